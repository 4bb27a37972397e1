package vertex

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"path"
	"regexp"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
)

// look is one look at a job.
type look struct {
	*job
	since   run.Cursor
	obs     run.Observation
	logs    []followed // whose lines are wanted
	start   time.Time  // of the job, as far as it is known
	ended   bool
	id      string // of the pipeline, "" for a custom job
	account string // that it runs as, for advice
}

// followed is one custom job whose lines are wanted.
type followed struct {
	id     string // a number
	folder string // of its streams, "" for the target itself
	start  time.Time
}

func newLook(s *job, since run.Cursor) *look {
	l := &look{job: s, since: since, obs: run.Observation{At: time.Now(), Next: run.Cursor{}}}
	maps.Copy(l.obs.Next, since)
	for k := range l.obs.Next {
		if strings.HasPrefix(k, "gap ") { // source.Once notes them anew
			delete(l.obs.Next, k)
		}
	}
	return l
}

// resource reads a resource as its exported file is read. It tells the facts and
// the text only where the resource changed since the last look.
func (l *look) resource(m proto.Message, file string) (export.Found, error) {
	text, err := pretty(m)
	if err != nil {
		return export.Found{}, fmt.Errorf("vertex: %s: %w", file, err)
	}
	n, err := doc.JSON(text)
	if err != nil {
		return export.Found{}, fmt.Errorf("vertex: %s: %w", file, err)
	}
	f, _ := export.Resource(export.NewText(file, string(text)), n)
	h := fnv.New64a()
	h.Write(text)
	key, sum := "resource "+file, fmt.Sprintf("%x", h.Sum64())
	if l.since[key] == sum {
		return export.Found{Pipeline: f.Pipeline}, nil
	}
	l.obs.Next[key] = sum
	l.obs.Streams = append(l.obs.Streams, stream(file, "json", text, time.Time{}))
	return f, nil
}

// pretty is a resource as gcloud and the console print it, a value a line. The
// spaces that protojson writes are random on purpose, so they are set anew.
func pretty(m proto.Message) ([]byte, error) {
	raw, err := protojson.Marshal(m)
	if err != nil {
		return nil, err
	}
	var flat, out bytes.Buffer
	if err := json.Compact(&flat, raw); err != nil {
		return nil, err
	}
	if err := json.Indent(&out, flat.Bytes(), "", "  "); err != nil {
		return nil, err
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// stream is a text that was made here.
func stream(name, kind string, text []byte, mod time.Time) run.Stream {
	return run.Stream{
		Name: name, Rank: run.NoRank, Kind: kind, Size: int64(len(text)), ModTime: mod,
		Open: func(ctx context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(text)), ctx.Err()
		},
	}
}

var notOfAName = regexp.MustCompile(`[^\w.-]+`)

// folderOf is where the streams of a task's job stand: the task's name, and the
// job's id where another job has that name.
func (s *job) folderOf(task, id string) string {
	if f, ok := s.labels[id]; ok {
		return f
	}
	f := strings.Trim(notOfAName.ReplaceAllString(task, "_"), ".")
	for _, taken := range s.labels {
		if taken == f {
			f += "-" + id
			break
		}
	}
	s.labels[id] = f
	return f
}

// lastPart is the id in a full name.
func lastPart(name string) string { return path.Base(name) }
