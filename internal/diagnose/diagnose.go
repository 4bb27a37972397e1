// Package diagnose looks at a run once and says what is wrong with it: it opens
// the target, fills a case file, lets the judge decide and writes the
// Diagnosis. The same input gives the same Diagnosis but for run_id and times.
package diagnose

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Doctor diagnoses runs with one book of failures over the known kinds of
// targets. It is safe for concurrent use.
type Doctor struct {
	Book    *failure.Book
	Sources source.Registry
	Now     func() time.Time // nil: time.Now
}

// Request names a run, or carries its text.
type Request struct {
	Target  string // as the command line or a tool takes it
	Text    string // a pasted log or traceback, instead of a target
	RunID   string // "": a new UUID
	Options source.Options
	// Partial says that a run which cannot be read before the deadline of the context
	// is judged by what was read of it until then, and the rest is a gap.
	Partial bool
}

// Result is the diagnosis and the case file behind it.
type Result struct {
	Diagnosis  *report.Diagnosis
	File       *casefile.File
	Target     string
	TargetType string
}

// Diagnose looks once. An error means that nothing at all could be seen; it
// wraps one of the sentinels of package source.
func (d *Doctor) Diagnose(ctx context.Context, r Request) (*Result, error) {
	now := d.now()
	start := now()
	if r.Text != "" {
		r.Target, r.Options.Stdin = "traceback:", strings.NewReader(r.Text)
	}
	f, kind, ref, err := d.look(ctx, r)
	if err != nil {
		return nil, err
	}
	out := d.Conclude(f, r.Target, r.RunID, kind, ref)
	end := now()
	out.DurationSeconds = end.Sub(start).Seconds()
	return &Result{out, f, r.Target, kind.Type}, nil
}

// Conclude judges a case file that is complete; kind and ref are what its target
// resolved to. The diagnosis has its timestamp, and no duration: the look is the
// caller's.
func (d *Doctor) Conclude(f *casefile.File, target, runID string, kind *source.Kind, ref string) *report.Diagnosis {
	out := assemble(f, judge.Case(d.Book, f))
	out.Target, out.TargetType = target, kind.Type
	if runID == "" {
		runID = uuid.NewString()
	}
	out.RunID = runID
	out.Summary = summary(out)
	at := jobCommands(f.Pipeline)
	out.NextCommands = nextCommands(out, kind, ref, len(at) == 0)
	if out.PrimaryCause != report.None {
		out.NextCommands = append(out.NextCommands, at...)
	}
	out.Timestamp = d.now()().UTC().Format(time.RFC3339)
	return out
}

// Look opens the target and fills a case file, without a verdict.
func (d *Doctor) Look(ctx context.Context, r Request) (*Result, error) {
	if r.Text != "" {
		r.Target, r.Options.Stdin = "traceback:", strings.NewReader(r.Text)
	}
	f, kind, _, err := d.look(ctx, r)
	if err != nil {
		return nil, err
	}
	return &Result{nil, f, r.Target, kind.Type}, nil
}

func (d *Doctor) look(ctx context.Context, r Request) (*casefile.File, *source.Kind, string, error) {
	kind, ref, err := d.Sources.Resolve(r.Target)
	if err != nil {
		return nil, nil, "", err
	}
	r.Options.Words = d.Book.Words
	src, err := kind.Open(ctx, ref, r.Options)
	if err != nil {
		return nil, nil, "", err
	}
	defer src.Close()
	f := casefile.New(d.Book.Matcher)
	f.Framework, f.Task = r.Options.Framework, r.Options.Task
	reading, done := inTime(ctx, r.Partial)
	defer done()
	o := run.Observation{More: true}
	for o.More { // a tracker gives millions of samples piece by piece
		if o, err = src.Observe(ctx, o.Next); err != nil {
			return nil, nil, "", err
		}
		if err := f.Add(reading, o); errors.Is(err, casefile.ErrNoTime) {
			if o.More {
				f.Gaps = append(f.Gaps, run.Gap{What: "the rest of what the trackers recorded", Why: err.Error(), Ask: "the metrics of the last steps"})
			}
			break
		} else if err != nil {
			return nil, nil, "", fmt.Errorf("diagnose: read %s: %w", r.Target, err)
		}
	}
	return f, kind, ref, nil
}

// inTime gives three quarters of the time that is left to the reading; the rest is
// for the judge.
func inTime(ctx context.Context, partial bool) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok || !partial {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, end.Add(-time.Until(end)/4), casefile.ErrNoTime)
}

func (d *Doctor) now() func() time.Time {
	if d.Now != nil {
		return d.Now
	}
	return time.Now
}
