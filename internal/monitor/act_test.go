package monitor_test

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// again is a run that an action started, written down as looks.
type again struct {
	script
	log  string
	done chan struct{}
}

func (*again) PID() int                { return 999_999_999 }
func (a *again) Log() string           { return a.log }
func (a *again) Done() <-chan struct{} { return a.done }

func stepsOf(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "step %d/500 loss=%g lr=3e-4\n", i, 2-float64(i)/1000)
	}
	return b.String()
}

var gone = run.Fact{Key: run.FactState, Value: run.ProcessGone}

func exitCode(n string) run.Fact { return run.Fact{Key: run.FactExitCode, Value: n} }

func TestAnActionIsCheckedOnTheRunThatGoesOn(t *testing.T) {
	const saves = "the next two saves complete"
	whole := true
	save := func(n int) run.Checkpoint { // the bubble's clock stands in 2000
		return run.Checkpoint{Path: fmt.Sprintf("ckpt-%d", n), Step: int64(n), Complete: &whole, ModifiedAt: time.Date(2000, 1, 1, 0, 0, n, 0, time.UTC)}
	}
	old := run.Checkpoint{Path: "ckpt-old", Step: 50, Complete: &whole, ModifiedAt: time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, tc := range []struct {
		name     string
		looks    []any
		want     report.EventKind
		text     string
		taken    string
		validate string // "100 steps pass" when ""
	}{
		{"it passes the step of before", []any{stepsOf(81, 120), stepsOf(121, 149), stepsOf(150, 200)}, report.EventValidated, "confirmed: the run is at step 200, beyond step 100", "confirmed", ""},
		{"fewer steps than the criterion", []any{stepsOf(81, 160), ""}, "", "", "started again", ""},
		{"it fails before that", []any{stepsOf(81, 110), "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n", gone, exitCode("1"), ""}, report.EventNotValidated, "not confirmed", "not confirmed", ""},
		{"it succeeds before that", []any{stepsOf(81, 130) + "Training finished\n", gone, exitCode("0"), ""}, report.EventValidated, "confirmed", "confirmed", ""},
		{"its saves complete", []any{stepsOf(81, 120), old, stepsOf(121, 160), save(3600), stepsOf(161, 170), save(3601), ""}, report.EventValidated, "2 of 2 saves", "confirmed", saves},
		{"only one of them does", []any{stepsOf(81, 120), old, stepsOf(121, 160), save(3600), stepsOf(161, 170)}, "", "", "started again", saves},
		{"its saves are not seen", []any{stepsOf(81, 120), stepsOf(121, 160), ""}, report.EventValidated, "its saves are not seen", "confirmed", saves},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var settled []string
				m := newMonitor(t, only(&script{looks: []any{
					stepsOf(1, 100), "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n", run.Fact{Key: run.FactPID, Value: "12"}, exitCode("1"), gone,
				}}))
				m.Settle = func(id string, helped bool, what string) error {
					settled = append(settled, fmt.Sprint(id, " ", helped))
					return nil
				}
				w, err := m.Open(t.Context(), monitor.Request{Target: "run.log", NoBackoff: true}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer w.Close()
				for u := (*report.Update)(nil); u == nil || u.End == nil; {
					if u, err = w.Next(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				w.GoOn(monitor.Acted{ID: "a1", Text: "started again", Validate: cmp.Or(tc.validate, "100 steps pass"), Run: &again{script: script{looks: tc.looks}}})
				var got []report.Event
				for range tc.looks {
					u, err := w.Next(t.Context())
					if err != nil {
						break
					}
					got = append(got, u.Events...)
				}
				r := w.Stop("enough")
				if len(got) == 0 || got[0].Kind != report.EventActed || got[0].Anomaly == nil {
					t.Fatalf("the action is not told first: %+v", got)
				}
				if !strings.Contains(r.Anomalies[0].ActionTaken, tc.taken) {
					t.Errorf("action_taken: %q, want %q", r.Anomalies[0].ActionTaken, tc.taken)
				}
				var outcome []report.Event
				for _, e := range got {
					if e.Kind == report.EventValidated || e.Kind == report.EventNotValidated {
						outcome = append(outcome, e)
					}
				}
				switch {
				case tc.want == "" && len(outcome)+len(settled) > 0:
					t.Errorf("told too early: %+v", outcome)
				case tc.want != "" && (len(outcome) != 1 || outcome[0].Kind != tc.want || !strings.Contains(outcome[0].Text, tc.text)):
					t.Errorf("got %+v", got)
				case tc.want != "" && (len(settled) != 1 || settled[0] != fmt.Sprint("a1 ", tc.want == report.EventValidated)):
					t.Errorf("settled: %q", settled)
				}
			})
		})
	}
}

func TestAnActionOnAWatchOfADesk(t *testing.T) {
	log, state := filepath.Join(t.TempDir(), "train.log"), t.TempDir()
	appendTo(t, log, steps(1, 20, "2.5"))
	d := desk(t, state)
	id, err := d.Start(often(log))
	if err != nil {
		t.Fatal(err)
	}
	first := wait(t, d, id, 0, true, 10*time.Second)
	appendTo(t, log, steps(21, 30, "nan"))
	st := wait(t, d, id, first.Cursor, false, 10*time.Second)
	tell := func(text string, run source.Started) {
		t.Helper()
		if err := d.Act(t.Context(), id, monitor.Acted{ID: "a1", Text: text, Run: run}); err != nil {
			t.Fatal(err)
		}
	}
	tell("ended it", nil)
	st = wait(t, d, id, st.Cursor, false, 10*time.Second)
	if len(st.Events) != 1 || st.Events[0].Kind != report.EventActed || st.Events[0].Anomaly.ActionTaken != "ended it" {
		t.Fatalf("while it goes on: %+v", st.Events)
	}
	if st, err = d.Stop(id, st.Cursor, "enough"); err != nil || st.Artifact.Anomalies[0].ActionTaken != "ended it" {
		t.Fatalf("%+v, %v", st.Artifact, err)
	}
	tell("fetched it", nil)
	st = wait(t, d, id, st.Cursor, false, 10*time.Second)
	if len(st.Events) != 2 || st.Events[1].Kind != report.EventEnd || st.Artifact == nil || st.Artifact.Anomalies[0].ActionTaken != "ended it; fetched it" {
		t.Fatalf("after its end: %+v %+v", st.Events, st.Artifact)
	}
	next := filepath.Join(t.TempDir(), "again.log")
	appendTo(t, next, steps(1, 40, "2.1"))
	tell("started it again", &again{script: script{looks: []any{steps(1, 40, "2.1")}}, log: next})
	st = wait(t, d, id, st.Cursor, false, 10*time.Second)
	if st.State != report.StateRunning || st.Artifact != nil || st.Events[0].Kind != report.EventActed {
		t.Fatalf("started again: %+v", st)
	}
	if err := d.Close(); err != nil { // the server ends, and another one begins
		t.Fatal(err)
	}
	d = desk(t, state)
	if err := d.Resume(); err != nil {
		t.Fatal(err)
	}
	appendTo(t, next, steps(41, 200, "2.0"))
	for st.Artifact == nil {
		st = wait(t, d, id, st.Cursor, false, 10*time.Second)
		for _, e := range st.Events {
			if e.Kind == report.EventValidated {
				return
			}
		}
		if len(st.Events) == 0 {
			break
		}
	}
	t.Errorf("the next server does not say whether it helped: %+v", st)
}
