package monitor_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// again is a run that an action started, written down as looks.
type again struct {
	script
	done chan struct{}
}

func (*again) PID() int                { return 77 }
func (*again) Log() string             { return "/tmp/run.log" }
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
	for _, tc := range []struct {
		name  string
		looks []any
		want  report.EventKind
		text  string
		taken string
	}{
		{"it passes the step of before", []any{stepsOf(81, 120), stepsOf(121, 149), stepsOf(150, 200)}, report.EventValidated, "confirmed: the run is at step 200, beyond step 100", "confirmed"},
		{"fewer steps than the criterion", []any{stepsOf(81, 160), ""}, "", "", "started again"},
		{"it fails before that", []any{stepsOf(81, 110), "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n", gone, exitCode("1"), ""}, report.EventNotValidated, "not confirmed", "not confirmed"},
		{"it succeeds before that", []any{stepsOf(81, 130) + "Training finished\n", gone, exitCode("0"), ""}, report.EventValidated, "confirmed", "confirmed"},
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
				w.GoOn(monitor.Acted{ID: "a1", Text: "started again", Validate: "100 steps pass", Run: &again{script: script{looks: tc.looks}}})
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
