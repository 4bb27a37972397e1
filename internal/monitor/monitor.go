// Package monitor looks at a run again and again until it ends: when the next
// look is due, what is worth telling, whether it was told already, and the
// report at the end. A Watch has no goroutine of its own: Next waits and looks.
// A Desk runs many watches, each with a journal on disk that clients read.
package monitor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Monitor watches runs with one book of failures over the known kinds of
// targets. It is safe for concurrent use.
type Monitor struct {
	Book    *failure.Book
	Sources source.Registry
	// Conclude is the whole diagnosis of a case file, for a run that failed.
	Conclude func(f *casefile.File, target, runID string, kind *source.Kind, ref string) *report.Diagnosis

	// Remember notes how the process of a watch was started, or that which writes
	// its log; what it cannot see is tried again at a later look. Settle enters
	// whether an action helped. Both may be nil.
	Remember func(ctx context.Context, s Seen) error
	Settle   func(action string, helped bool, what string) error
}

// Seen is what a watch knows of the run that it looks at.
type Seen struct {
	Watch, Host string // Host is "" for this machine
	PID         int    // 0 when it knows only the log
	Log         string
}

// Request names a run and says how to watch it. The zero value of what stands
// below Target is the default.
type Request struct {
	Target      string // as the command line or a tool takes it
	Options     source.Options
	Interval    time.Duration // between looks at first: 30 s, 60 s at a cloud service
	MaxInterval time.Duration // the most that quiet looks lie apart: 300 s
	NoBackoff   bool          // always Interval
	Once        bool          // one look, then the end
	NoFix       bool          // propose no action
	Deadline    time.Time     // the run's wall-clock limit, zero when not given
	RunID       string        // of the artifact: a new UUID
	OutDir      string        // where a Desk writes the artifacts beside its own folder, "" for nowhere
}

// The intervals of the skill.
const (
	usualInterval = 30 * time.Second
	cloudInterval = time.Minute
	maxInterval   = 300 * time.Second
)

// fill sets what was not given.
func (r *Request) fill(k *source.Kind) {
	usual := usualInterval
	if k.Scheme == "vertex-pipeline" || k.Scheme == "vertex-training" {
		usual = cloudInterval
	}
	r.Interval = cmp.Or(r.Interval, usual)
	r.MaxInterval = max(cmp.Or(r.MaxInterval, maxInterval), r.Interval)
	r.RunID = cmp.Or(r.RunID, uuid.NewString())
	r.Options.Watch = !r.Once
}

// ErrEnded is what Next returns after the last update.
var ErrEnded = errors.New("monitor: the watch has ended")

// Open opens the target; nothing is looked at before Next. The caller closes
// the watch. told is what a journal says was told already, nil for a new watch.
func (m *Monitor) Open(ctx context.Context, r Request, told *Told) (*Watch, error) {
	kind, ref, err := m.Sources.Resolve(r.Target)
	if err != nil {
		return nil, err
	}
	r.fill(kind)
	opt := r.Options
	opt.Words = m.Book.Words
	src, err := kind.Open(ctx, ref, opt)
	if err != nil {
		return nil, fmt.Errorf("monitor: %w", err)
	}
	return m.watch(r, kind, ref, src, told), nil
}

// Attach watches a run that was started here; a look is due as soon as it ends.
// The watch closes src.
func (m *Monitor) Attach(r Request, src source.Started) *Watch {
	kind := &source.Kind{Scheme: "file", Type: "pid"} // what can be looked up afterwards is its log
	r.Target = fmt.Sprintf("pid:%d", src.PID())
	r.fill(kind)
	w := m.watch(r, kind, src.Log(), src, nil)
	w.ended = src.Done()
	return w
}

func (m *Monitor) watch(r Request, kind *source.Kind, ref string, src source.Source, told *Told) *Watch {
	f := casefile.New(m.Book.Matcher)
	f.Framework, f.Task, f.Following = r.Options.Framework, r.Options.Task, true
	f.Pulse.Interval = r.Interval
	w := &Watch{m: m, name: r.RunID, req: r, kind: kind, ref: ref, src: src, file: f, pace: backoff{base: r.Interval, most: r.MaxInterval, fixed: r.NoBackoff}}
	w.pace.reset()
	if told != nil {
		w.book.restore(told.Events)
		w.started, w.polls = told.Started, told.Polls
		f.Pulse.Recall(told.Memory)
	}
	return w
}
