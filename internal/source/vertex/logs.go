package vertex

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/vertex/cloud"
)

// readLogs reads the lines of the jobs that are followed, and the events of the
// pipeline: at first the beginning, the end and what speaks of a failure between
// them, later what was received since.
func (l *look) readLogs(ctx context.Context) error {
	if len(l.logs) == 0 && l.id == "" {
		return nil
	}
	r := &reading{look: l, keys: l.seen()}
	var err error
	switch {
	case l.since["received"] != "":
		err = r.newer(ctx)
	case l.opt.Last > 0:
		err = r.last(ctx)
	default:
		err = r.first(ctx)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		l.blind("the log", err)
	}
	r.write(err == nil)
	return nil
}

// How a log of many pages is read.
const (
	headPages  = 2 // of the first look
	tailPages  = 4
	newPages   = 3 // of a later look, oldest first
	aheadPages = 2 // of a later look, newest first, where there are more
	lastPages  = 20
)

// reading is the lines of one look.
type reading struct {
	*look
	all  []entry
	keys map[uint64]bool // what was given already
}

// first reads a log that was not read before.
func (r *reading) first(ctx context.Context) error {
	hole, err := r.ends(ctx, r.filter(r.logs, true), headPages, tailPages)
	if err != nil || hole == nil {
		return err
	}
	r.obs.Gaps = append(r.obs.Gaps, run.Gap{
		What: "the middle of the log",
		Why:  fmt.Sprintf("there are more than %d lines; between %s and %s only lines that speak of a failure were read", (headPages+tailPages)*cloud.PageSize, hole.from.Format(time.RFC3339), hole.to.Format(time.RFC3339)),
		Ask:  r.readCommand(hole),
	})
	if err := r.needles(ctx, hole); err != nil {
		r.blind("the lines in the middle of the log that speak of a failure", err)
	}
	return nil
}

// last reads the last lines that the user asked for.
func (r *reading) last(ctx context.Context) error {
	q := cloud.Query{Filter: r.filter(r.logs, true), Newest: true}
	for range lastPages {
		n := 0
		for _, e := range r.all {
			n += len(e.texts)
		}
		q.Size = min(r.opt.Last-n, cloud.PageSize)
		if q.Size <= 0 {
			return nil
		}
		next, err := r.page(ctx, q)
		if q.Token = next; err != nil || next == "" {
			return err
		}
	}
	return nil
}

// newer reads what was received since the last look, also of jobs that began
// since.
func (r *reading) newer(ctx context.Context) error {
	var old, young []followed
	for _, f := range r.logs {
		if strings.Contains(r.since["known"], " "+f.id+" ") {
			old = append(old, f)
		} else {
			young = append(young, f)
		}
	}
	filter := r.filter(old, true) + " AND receiveTimestamp>=" + cloud.Quote(r.watermark().Add(-overlap).Format(time.RFC3339Nano))
	if len(old) == 0 && r.id == "" {
		filter = r.filter(young, false)
	} else if len(young) > 0 {
		filter = "(" + filter + ") OR (" + r.filter(young, false) + ")"
	}
	hole, err := r.ends(ctx, filter, newPages, aheadPages)
	if err != nil || hole == nil {
		return err
	}
	r.obs.Gaps = append(r.obs.Gaps, run.Gap{
		What: "lines of the log since the last look",
		Why:  fmt.Sprintf("more than %d came at once; those between %s and %s were passed over", (newPages+aheadPages)*cloud.PageSize, hole.from.Format(time.RFC3339Nano), hole.to.Format(time.RFC3339Nano)),
		Ask:  r.readCommand(hole),
	})
	return nil
}

// span is a part of a log that was not read.
type span struct{ from, to time.Time }

// ends reads a log from its beginning and, where it is long, from its end; it
// returns what is between them.
func (r *reading) ends(ctx context.Context, filter string, head, tail int) (*span, error) {
	q := cloud.Query{Filter: filter}
	for range head {
		next, err := r.page(ctx, q)
		if q.Token = next; err != nil || next == "" {
			return nil, err
		}
	}
	hole := &span{from: r.all[len(r.all)-1].at}
	q = cloud.Query{Filter: filter, Newest: true}
	for range tail {
		next, err := r.page(ctx, q)
		if err != nil {
			return nil, err
		}
		if hole.to = r.all[len(r.all)-1].at; next == "" || !hole.to.After(hole.from) {
			return nil, nil
		}
		q.Token = next
	}
	return hole, nil
}

// page reads one page.
func (r *reading) page(ctx context.Context, q cloud.Query) (next string, err error) {
	got, next, err := r.client.Entries(ctx, q)
	for _, e := range got {
		r.all = append(r.all, newEntry(e))
	}
	if len(got) == 0 { // a service may answer a page without entries, and a token
		next = ""
	}
	return next, err
}

// speaksOfFailure is what lines that prove a failure have in common, in the
// syntax of the service, which is that of RE2. It needs not be exact: what it
// finds is read like any other line.
const speaksOfFailure = `(Traceback|[A-Z][A-Za-z]*(Error|Exception)\b|out of memory|OutOfMemory|OOM|Killed|SIG(KILL|TERM|SEGV|ABRT)|Segmentation fault|core dumped|CUDA error|NCCL.*(error|timeout)|[Ll]oss.{0,6}\b(nan|NaN|inf)\b|PERMISSION_DENIED|RESOURCE_EXHAUSTED|No space left)`

// needles reads in a part of a log the lines that speak of a failure, and what
// stands around the first and the last of them.
func (r *reading) needles(ctx context.Context, hole *span) error {
	within := r.filter(r.logs, true) + " AND " + between(hole.from, hole.to)
	found := len(r.all)
	words := "(textPayload=~" + cloud.Quote(speaksOfFailure) + " OR jsonPayload.message=~" + cloud.Quote(speaksOfFailure) + ")"
	if _, err := r.page(ctx, cloud.Query{Filter: within + " AND " + words, Newest: true}); err != nil || len(r.all) == found {
		return err
	}
	last, first := r.all[found].at, r.all[len(r.all)-1].at
	around := func(at time.Time) error {
		_, err := r.page(ctx, cloud.Query{Filter: r.filter(r.logs, true) + " AND " + between(at.Add(-before), at.Add(behind))})
		return err
	}
	if err := around(last); err != nil || last.Sub(first) < behind {
		return err
	}
	return around(first)
}

// What is read around a line that speaks of a failure.
const (
	before = 5 * time.Second
	behind = 20 * time.Second
)

func between(from, to time.Time) string {
	return "timestamp>=" + cloud.Quote(from.Format(time.RFC3339Nano)) + " AND timestamp<=" + cloud.Quote(to.Format(time.RFC3339Nano))
}

// early is how long before a job's start its lines may lie.
const early = time.Hour

// filter chooses the lines of jobs and, if asked for, the events of the pipeline.
// It is bounded in time, since a query without a bound reads what was kept for
// years.
func (r *reading) filter(jobs []followed, events bool) string {
	start := r.start
	var ids []string
	for _, f := range jobs {
		ids = append(ids, cloud.Quote(f.id))
		if f.start.Before(start) {
			start = f.start
		}
	}
	var any []string
	if len(ids) > 0 {
		any = append(any, `(resource.type="ml_job" AND resource.labels.job_id=(`+strings.Join(ids, " OR ")+`))`)
	}
	if events && r.id != "" {
		any = append(any, `(resource.type="aiplatform.googleapis.com/PipelineJob" AND resource.labels.pipeline_job_id=`+cloud.Quote(r.id)+`)`)
	}
	return "(" + strings.Join(any, " OR ") + ") AND timestamp>=" + cloud.Quote(start.Add(-early).UTC().Format(time.RFC3339))
}

// readCommand is the command that reads a part of the log.
func (r *reading) readCommand(hole *span) string {
	filter := r.filter(r.logs, false) + " AND " + between(hole.from, hole.to)
	return fmt.Sprintf("gcloud logging read '%s' --project=%s --order=asc --format=json > part.json", filter, r.client.Project)
}

// write makes streams of what was read: the events of the pipeline, and the lines
// of each replica of each job, in the order of time.
func (r *reading) write(whole bool) {
	slices.SortStableFunc(r.all, func(a, b entry) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.id, b.id))
	})
	texts := map[string]*text{}
	for i := range r.all {
		e := &r.all[i]
		if r.keys[e.key] {
			continue
		}
		r.keys[e.key] = true
		name := r.streamOf(e)
		if texts[name] == nil {
			texts[name] = &text{}
		}
		texts[name].add(e)
		r.tellEvent(e, name, texts[name])
	}
	r.streams(texts)
	r.remember(whole)
	if whole && len(r.since) == 0 {
		r.mute()
	}
}

// mute tells that a job that failed left no line of its own.
func (r *reading) mute() {
	p := r.obs.Pipeline
	failed := p != nil && (len(p.Failed()) > 0 || strings.HasSuffix(p.State, "_FAILED"))
	spoke := slices.ContainsFunc(r.all, func(e entry) bool { return e.job != "" && e.replica != "service" })
	if !failed || spoke || len(r.logs) == 0 {
		return
	}
	r.obs.Gaps = append(r.obs.Gaps, run.Gap{
		What: "the log of the program",
		Why:  "Cloud Logging has no line of it: its container never started, or the account that it runs as may not write logs",
		Ask:  fmt.Sprintf("if it did start, grant roles/logging.logWriter to %s and run it again: gcloud projects add-iam-policy-binding %s --member=serviceAccount:ACCOUNT --role=roles/logging.logWriter", r.account, r.client.Project),
	})
}
