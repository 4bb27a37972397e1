package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// script is a source whose looks are written down: each the new text of the log,
// or an error.
type script struct {
	looks []any
	at    int
	size  int
}

func (s *script) Observe(context.Context, run.Cursor) (run.Observation, error) {
	o := run.Observation{At: time.Now()}
	if s.at >= len(s.looks) {
		return o, nil
	}
	s.at++
	switch v := s.looks[s.at-1].(type) {
	case error:
		return o, v
	case run.Fact:
		o.Facts = append(o.Facts, v)
	case []run.Fact:
		o.Facts = v
	case run.Checkpoint:
		o.Checkpoints = []run.Checkpoint{v}
	case string:
		if v != "" {
			o.Streams = []run.Stream{{Name: "run.log", Rank: run.NoRank, Kind: "log", Offset: int64(s.size), Open: func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(v)), nil
			}}}
			s.size += len(v)
		}
	}
	return o, nil
}

func (s *script) Close() error { return nil }

// waits are the times between looks, as each update announces them.
func waits(t *testing.T, r monitor.Request, looks ...any) (out []time.Duration, updates []*report.Update) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r.Target = "run.log"
		w, err := newMonitor(t, only(&script{looks: looks})).Open(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		for range looks {
			before := time.Now()
			u, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n := len(out); n > 0 && time.Since(before) != out[n-1] {
				t.Errorf("look %d came after %v, %v was announced", n, time.Since(before), out[n-1])
			}
			out, updates = append(out, u.Next), append(updates, u)
		}
	})
	return out, updates
}

func logged(step int, loss float64) string {
	return fmt.Sprintf("step %d/5000 loss=%g lr=3e-4 epoch=%d\n", step, loss, step/1000)
}

func TestTheIntervalIsTheSkills(t *testing.T) {
	s := time.Second
	for _, c := range []struct {
		name  string
		r     monitor.Request
		looks []any
		want  []time.Duration
	}{
		{
			"it grows by half after each quiet look",
			monitor.Request{},
			[]any{logged(1, 2), logged(2, 2), logged(3, 2), logged(4, 2), logged(5, 2)},
			[]time.Duration{30 * s, 45 * s, 67500 * time.Millisecond, 101250 * time.Millisecond, 151875 * time.Millisecond},
		},
		{
			"to the cap",
			monitor.Request{MaxInterval: 60 * s},
			[]any{logged(1, 2), logged(2, 2), logged(3, 2), logged(4, 2)},
			[]time.Duration{30 * s, 45 * s, 60 * s, 60 * s},
		},
		{
			"no backoff",
			monitor.Request{Interval: 10 * s, NoBackoff: true},
			[]any{logged(1, 2), logged(2, 2), logged(3, 2)},
			[]time.Duration{10 * s, 10 * s, 10 * s},
		},
		{
			"a loss that moved by more than 5 %",
			monitor.Request{},
			[]any{logged(1, 2), logged(2, 2), logged(3, 2.11), logged(4, 2.05)},
			[]time.Duration{30 * s, 45 * s, 30 * s, 45 * s},
		},
		{
			"a new epoch",
			monitor.Request{},
			[]any{logged(998, 2), logged(999, 2), logged(1000, 2), logged(1001, 2)},
			[]time.Duration{30 * s, 45 * s, 30 * s, 45 * s},
		},
		{
			"an anomaly",
			monitor.Request{},
			[]any{logged(1, 2), logged(2, 2), "step 3/5000 loss=nan\nstep 4/5000 loss=nan\nstep 5/5000 loss=nan\n"},
			[]time.Duration{30 * s, 45 * s, 30 * s},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := waits(t, c.r, c.looks...); !slices.Equal(got, c.want) {
				t.Errorf("want %v, got %v", c.want, got)
			}
		})
	}
}

func TestTheLinesAreTheSkills(t *testing.T) {
	_, u := waits(t, monitor.Request{}, "step 340/5000 loss=2.41 lr=3e-4 grad_norm=1.2 samples/s=98\n", "step 342/5000 loss=2.39 lr=3e-4 grad_norm=1.1 samples/s=99\n",
		"step 345/5000 loss=nan lr=3e-4 grad_norm=1842\nstep 346/5000 loss=nan lr=3e-4 grad_norm=nan\nstep 347/5000 loss=nan lr=3e-4 grad_norm=nan\n")
	for i, want := range []string{
		"[00:00:00] Step 340/5000 (6.8%) | loss=2.41 | lr=3e-4 | grad_norm=1.2 | 98 samples/s\n  next poll in 30s",
		"[00:00:30] Step 342/5000 (6.8%) | loss=2.39 | lr=3e-4 | grad_norm=1.1 | 99 samples/s\n  next poll in 45s  ← backed off 30s→45s",
	} {
		if got := strings.Join(u[i].Lines, "\n"); got != want {
			t.Errorf("want\n%s\ngot\n%s", want, got)
		}
	}
	last := strings.Join(u[2].Lines, "\n")
	for _, want := range []string{"loss=nan", "— ANOMALY: loss is NaN from step 345 on", "reset 45s→30s", "nan-inf (Critical) at run.log:3: “step 345/5000 loss=nan", "Recommended: "} {
		if !strings.Contains(last, want) {
			t.Errorf("want %q in\n%s", want, last)
		}
	}
	if len(u[2].Summary) == 0 {
		t.Error("something notable wants the summary")
	}
}

func TestTheLineOfTheGPUs(t *testing.T) {
	gpu := func(facts ...string) (out []run.Fact) {
		for i := 0; i < len(facts); i += 2 {
			out = append(out, run.Fact{Key: run.GPU + facts[i], Value: facts[i+1]})
		}
		return out
	}
	_, u := waits(t, monitor.Request{NoBackoff: true}, gpu("0.utilization", "94", "0.memory_used_mib", "38120", "0.memory_total_mib", "40960"),
		gpu("1.utilization", "96", "1.memory_used_mib", "39000", "1.memory_total_mib", "40960", "2.utilization", "3", "2.others", "true"))
	for i, want := range []string{"GPU: 94% util, 38120/40960 MB VRAM", "GPU: 95% util, 39000/40960 MB VRAM"} {
		if got := strings.Join(u[i].Lines, "\n"); !strings.Contains(got, want) {
			t.Errorf("want %q in %q", want, got)
		}
	}
}

func TestASourceThatFailsLaterIsNoEnd(t *testing.T) {
	_, u := waits(t, monitor.Request{}, logged(1, 2), source.ErrUnreachable, logged(2, 2))
	if !strings.Contains(u[1].Lines[0], "this look saw nothing: unreachable") || u[1].State != report.StateRunning {
		t.Errorf("%q", u[1].Lines)
	}
}

func TestAFirstLookThatSeesNothingIsAnError(t *testing.T) {
	w, err := newMonitor(t, only(&script{looks: []any{source.ErrDenied}})).Open(t.Context(), monitor.Request{Target: "x.log"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Next(t.Context()); !errors.Is(err, source.ErrDenied) {
		t.Errorf("got %v", err)
	}
}

func TestAnEndNeedsProof(t *testing.T) {
	done := logged(5000, 0.5) + "Training completed\n"
	exit := func(code string) run.Fact { return run.Fact{Key: run.FactExitCode, Value: code} }
	for _, c := range []struct {
		name  string
		looks []any
		want  report.TerminalState
	}{
		{"exit code 0", []any{logged(1, 2), exit("0")}, report.StateSucceeded},
		{"exit code 1", []any{logged(1, 2), exit("1")}, report.StateFailed},
		{"SIGKILL", []any{logged(1, 2), exit("137")}, report.StateFailed},
		{"a person", []any{logged(1, 2), exit("130")}, report.StateCancelled},
		{"a time limit", []any{logged(1, 2) + "slurmstepd: error: *** JOB 1 ON n1 CANCELLED AT 2026-01-01T00:00:00 DUE TO TIME LIMIT ***\n", exit("143")}, report.StateTimeout},
		{"a process that is gone, whose log just ends", []any{logged(1, 2), run.Fact{Key: run.FactState, Value: run.ProcessGone}}, report.StateFailed},
		{"a process that is gone and had said that it was done", []any{done, run.Fact{Key: run.FactState, Value: run.ProcessGone}}, report.StateSucceeded},
		{"the log's words, and silence", []any{done, "", "", "", "", "", ""}, report.StateSucceeded},
		{"early stopping", []any{logged(9, 2) + "Epoch 00012: early stopping\n", exit("0")}, report.StateEarlyStopped},
		{"silence alone", []any{logged(9, 2), "", "", "", ""}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var end *report.WatchReport
			var diag *report.Diagnosis
			synctest.Test(t, func(t *testing.T) {
				w, err := newMonitor(t, only(&script{looks: c.looks})).Open(t.Context(), monitor.Request{Target: "run.log"}, nil)
				if err != nil {
					t.Fatal(err)
				}
				for range c.looks {
					if u, err := w.Next(t.Context()); err == nil && u.End != nil {
						end, diag = u.End, w.Diagnosis()
					}
				}
			})
			if end != nil && end.TerminalState == report.StateFailed && diag.PrimaryCause == report.None {
				t.Errorf("a run that failed is diagnosed as %s: %s", diag.RunStatus, diag.RootCause)
			}
			switch {
			case end == nil && c.want != "":
				t.Errorf("no end, want %s", c.want)
			case end != nil && end.TerminalState != c.want:
				t.Errorf("want %s, got %s: %s", c.want, end.TerminalState, end.StopReason)
			}
		})
	}
}
