package vertex

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	lpb "cloud.google.com/go/logging/apiv2/loggingpb"
	ltype "google.golang.org/genproto/googleapis/logging/type"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
)

// entry is one entry of Cloud Logging.
type entry struct {
	at, received time.Time
	id           string
	key          uint64    // of the entry, among all
	job, replica string    // of a custom job
	event        *doc.Node // an event of the pipeline
	grave        bool
	texts        []string
}

func newEntry(m *lpb.LogEntry) entry {
	e := entry{
		at: m.GetTimestamp().AsTime(), received: m.GetReceiveTimestamp().AsTime(), id: m.GetInsertId(),
		job: m.GetResource().GetLabels()["job_id"], replica: m.GetResource().GetLabels()["task_name"],
		grave: m.GetSeverity() >= ltype.LogSeverity_ERROR,
	}
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %s %d", m.GetLogName(), m.GetInsertId(), e.at.UnixNano())
	e.key = h.Sum64()
	raw, err := protojson.Marshal(m)
	if err != nil { // an audit entry of a type that is not linked
		return e
	}
	n, err := doc.JSON(raw)
	if err != nil {
		return e
	}
	if n.Get("jsonPayload", "pipelineName") != nil {
		e.event = n.Get("jsonPayload")
		var flat bytes.Buffer
		if json.Compact(&flat, raw) == nil {
			e.texts = []string{flat.String()}
		}
		return e
	}
	e.texts = export.NewEntry(n, raw).Texts
	return e
}

// text is the new text of a stream.
type text struct {
	b     strings.Builder
	lines int
	last  time.Time
}

// maxText bounds one message; the case file clips lines anyway.
const maxText = 64 << 10

// add writes an entry: an event of the pipeline as it is, else each line of its
// message behind the time.
func (t *text) add(e *entry) {
	t.last = e.at
	if e.event != nil {
		t.lines++
		t.b.WriteString(e.texts[0] + "\n")
		return
	}
	prefix := e.at.UTC().Format("2006-01-02T15:04:05.000000Z") + " "
	for _, m := range e.texts {
		m = strings.TrimRight(m, "\r\n")
		if len(m) > maxText {
			m = strings.ToValidUTF8(m[:maxText], "")
		}
		for l := range strings.SplitSeq(m, "\n") {
			t.lines++
			t.b.WriteString(prefix + l + "\n")
		}
	}
}

const eventStream = "pipeline_events.jsonl"

// streamOf is the name of the stream that an entry belongs to.
func (r *reading) streamOf(e *entry) string {
	if e.job == "" {
		return eventStream
	}
	name := notOfAName.ReplaceAllString(cmp.Or(e.replica, "job"), "_") + ".log"
	for _, f := range r.logs {
		if f.id == e.job && f.folder != "" {
			return f.folder + "/" + name
		}
	}
	return name
}

// tellEvent makes a fact of an error among the events of the pipeline: an attempt
// that failed and may be repeated.
func (r *reading) tellEvent(e *entry, stream string, t *text) {
	if e.event == nil || !e.grave {
		return
	}
	msg := e.event.Get("error", "message").Str()
	value := strings.TrimSpace(e.event.Get("taskName").Str() + ": " + cmp.Or(msg, e.event.Get("state").Str()))
	line, _ := strconv.Atoi(r.since["lines "+stream])
	r.obs.Facts = append(r.obs.Facts, run.Fact{Key: run.FactTaskError, Value: value, From: run.Ref{File: stream, Line: line + t.lines}})
}

// streams adds the texts to what this look saw, each where its stream stopped
// last.
func (r *reading) streams(texts map[string]*text) {
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		t := texts[name]
		s := stream(name, "log", []byte(t.b.String()), t.last)
		s.Live = !r.ended
		at, _ := strconv.ParseInt(r.since["bytes "+name], 10, 64)
		line, _ := strconv.Atoi(r.since["lines "+name])
		s.Offset, s.FirstLine = at, line+1
		r.obs.Next["bytes "+name] = strconv.FormatInt(at+s.Size, 10)
		r.obs.Next["lines "+name] = strconv.Itoa(line + t.lines)
		r.obs.Streams = append(r.obs.Streams, s)
	}
}
