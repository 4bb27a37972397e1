package monitor

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Watch looks at one run until it ends. It is not safe for concurrent use.
type Watch struct {
	m      *Monitor
	name   string // under which its process is remembered
	req    Request
	kind   *source.Kind
	ref    string
	src    source.Source
	file   *casefile.File
	cursor run.Cursor
	pace   backoff
	book   notes
	at     position

	started time.Time
	due     time.Time
	ended   <-chan struct{} // closed when a run that was started here has ended; nil else
	polls   int
	looks   int // of this process
	blind   int // looks in a row that saw nothing at all
	state   report.TerminalState
	diag    *report.Diagnosis
	check   *check         // of the last action
	inbox   <-chan Acted   // actions that others do on the run; nil when there are none
	news    []report.Event // of actions, to be told with the next look
	lacks   []run.Gap      // what the watch itself could not do
}

const (
	summaryEvery = 5
	lookDeadline = 2 * time.Minute
	mostAtOnce   = 64 // looks in a row at a log that gave no more than a part of itself
)

// Next waits until the next look is due, looks, and says what it saw. It returns
// ErrEnded after the update with an End, ctx's error when that ends first, and
// the source's error when the first look sees nothing at all.
func (w *Watch) Next(ctx context.Context) (*report.Update, error) {
	if w.state.Ended() || w.state != "" && w.req.Once {
		return nil, ErrEnded
	}
	if err := w.wait(ctx); err != nil {
		return nil, err
	}
	at, err := w.look(ctx)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil && w.polls == 0 {
		return nil, err
	}
	if err == nil {
		w.remember(ctx)
	}
	w.polls++
	w.looks++
	if w.started.IsZero() {
		w.started = at
	}
	return w.judge(ctx, at, err), nil
}

func (w *Watch) wait(ctx context.Context) error {
	d := time.Until(w.due)
	if w.due.IsZero() || d <= 0 {
		select {
		case a := <-w.inbox:
			w.GoOn(a)
		default:
		}
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-w.ended:
		w.ended = nil
		return nil
	case a := <-w.inbox:
		w.GoOn(a)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// look adds what is new to the case file. A log that gives a part of itself is
// looked at again at once.
func (w *Watch) look(ctx context.Context) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, lookDeadline)
	defer cancel()
	for range mostAtOnce {
		o, err := w.src.Observe(ctx, w.cursor)
		if err != nil {
			return time.Now(), err
		}
		if !w.req.Deadline.IsZero() {
			o.Facts = append(o.Facts, run.Fact{Key: run.FactDeadline, Value: w.req.Deadline.UTC().Format(time.RFC3339)})
		}
		w.cursor = o.Next
		if err := w.file.Add(ctx, o); err != nil {
			return o.At, fmt.Errorf("monitor: read %s: %w", w.req.Target, err)
		}
		if !o.More {
			return o.At, nil
		}
	}
	return time.Now(), nil
}

// judge turns the case file after a look into an update.
func (w *Watch) judge(ctx context.Context, at time.Time, failed error) *report.Update {
	u := &report.Update{At: at, Poll: w.polls}
	w.blind++
	if failed == nil {
		w.blind = 0
	}
	if w.blind == 1 {
		w.file.Gaps = append(w.file.Gaps, run.Gap{
			What: "the run from " + at.UTC().Format(time.RFC3339) + " on, for a while", Why: failed.Error(), Ask: "nothing if a later look saw it; else a copy of the log",
		})
	}
	w.file.Pulse.Last = w.req.Once
	end := judge.Ended(w.m.Book, w.file)
	over := end.State.Ended() || w.req.Once
	if over && w.file.Settle(ctx) == nil {
		w.file.Pulse.Last = true
		end = judge.Ended(w.m.Book, w.file)
	}
	w.state, u.State = end.State, end.State
	seen := judge.Anomalies(w.m.Book, w.file)
	if end.State == report.StateFailed && !end.ByLog && !slices.ContainsFunc(seen, fatal) {
		seen = append(seen, w.crash(at, end))
	}
	if end.State.Ended() {
		stood := w.book.tells(report.AnomalyStalled) && end.State != report.StateSucceeded
		seen = slices.DeleteFunc(seen, func(a report.Anomaly) bool { return a.Type == report.AnomalyStalled && !stood })
	}
	u.Events = append(w.news, w.book.take(at, seen, over)...)
	w.news = nil
	u.Events = append(u.Events, w.validate(at, end.State, u.Events)...)
	before := w.at
	w.at = positionOf(w.file)
	if w.looks > 1 && before.state != w.at.state {
		u.Events = append(u.Events, report.Event{Kind: report.EventState, At: at.UTC().Format(time.RFC3339), Text: changes(before, w.at)})
	}
	was := w.pace.now
	switch {
	case len(u.Events) > 0 || len(w.book.current()) > 0 || w.looks > 1 && before.movedTo(w.at):
		w.pace.reset()
	case w.looks > 1:
		w.pace.quiet()
	}
	u.Next = w.pace.now
	w.due = time.Now().Add(u.Next)
	u.Reset = w.looks > 1 && u.Next < was
	if over {
		u.Next = 0
		u.End = w.finish(at, end, stopReason(w.req.Once, end))
		u.Events = append(u.Events, endOf(u.End))
	}
	w.describe(u, was, failed)
	return u
}

// endOf is the event of the end.
func endOf(r *report.WatchReport) report.Event {
	return report.Event{Kind: report.EventEnd, At: r.Timestamp, Text: r.Summary}
}

// fatal reports whether an anomaly explains that a run failed.
func fatal(a report.Anomaly) bool {
	return a.Severity == report.Blocker && a.Type != report.AnomalyNaNInf && a.Type != report.AnomalyDivergence
}

// crash is the anomaly of a run that ended without saying why.
func (w *Watch) crash(at time.Time, end judge.End) report.Anomaly {
	a := report.Anomaly{Type: report.AnomalyCrash, Severity: report.Blocker, Class: report.Crash, Description: end.Why, At: at.UTC().Format(time.RFC3339)}
	a.Fix = "read the kernel log of the time of death (dmesg -T | tail -n 50) and the exit code"
	if m := w.file.Main(); m != nil && m.Progress().Step >= 0 {
		step := m.Progress().Step
		a.Step = &step
	}
	return a
}

func stopReason(once bool, end judge.End) string {
	if end.State.Ended() {
		return end.Why
	}
	if once {
		return "--once: one look was asked for"
	}
	return end.Why
}

// Stop ends the watch before the run has ended and returns its report.
func (w *Watch) Stop(reason string) *report.WatchReport {
	at := time.Now()
	if w.started.IsZero() {
		w.started = at
	}
	state := w.state
	if state == "" {
		state = report.StateRunning
	}
	w.state = report.StateRunning
	w.req.Once = true // Next has nothing more to say
	return w.finish(at, judge.End{State: state, Why: reason, Proven: 0.6}, reason)
}

// Close frees the source.
func (w *Watch) Close() error { return w.src.Close() }

// Diagnosis is the whole diagnosis of a run that ended, nil before.
func (w *Watch) Diagnosis() *report.Diagnosis { return w.diag }

// Open lists the anomalies that are open now.
func (w *Watch) Open() []report.Anomaly { return w.book.current() }

// Type is the target_type of the artifact.
func (w *Watch) Type() string { return w.kind.Type }

// lack notes once what the watch itself could not do.
func (w *Watch) lack(g run.Gap) {
	if !slices.ContainsFunc(w.lacks, func(had run.Gap) bool { return had.What == g.What }) {
		w.lacks, w.file.Gaps = append(w.lacks, g), append(w.file.Gaps, g)
	}
}

// Name is what the watch's process is remembered under.
func (w *Watch) Name() string { return w.name }
