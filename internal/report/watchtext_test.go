package report_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/report"
)

func TestValuesAreWrittenAsProgressLinesHaveThem(t *testing.T) {
	for want, v := range map[string]float64{
		"0.342": 0.342, "1e-4": 1e-4, "3e-4": 0.0003, "2.53e-5": 2.5312e-5, "nan": math.NaN(), "142": 142, "0": 0, "1842": 1842,
		"98.57": 98.5712, "-2.1": -2.1, "1.2e9": 1.2e9, "+inf": math.Inf(1), "1.173e12": 1.17273e12, "0.02": 0.02,
	} {
		if got := report.Short(v); got != want {
			t.Errorf("%g: want %s, got %s", v, want, got)
		}
	}
	for want, d := range map[string]time.Duration{"45s": 45 * time.Second, "12m": 12 * time.Minute, "1h 23m": 83 * time.Minute, "3d 4h": 76 * time.Hour} {
		if got := report.Took(d); got != want {
			t.Errorf("%v: want %s, got %s", d, want, got)
		}
	}
}

func TestTheDecisionOfAWatchFollowsTheContract(t *testing.T) {
	closed := "2026-01-01T00:00:00Z"
	for _, c := range []struct {
		state report.TerminalState
		sev   report.Severity
		close bool
		want  report.Decision
	}{
		{report.StateSucceeded, "", false, report.Go},
		{report.StateSucceeded, report.High, false, report.Conditional},
		{report.StateSucceeded, report.High, true, report.Go},
		{report.StateEarlyStopped, report.Medium, false, report.Go},
		{report.StateRunning, "", false, report.Go},
		{report.StateRunning, report.Blocker, false, report.NoGo},
		{report.StateFailed, "", false, report.NoGo},
		{report.StateTimeout, "", false, report.NoGo},
		{report.StateCancelled, "", false, report.NoGo},
	} {
		r := report.NewWatchReport()
		r.TerminalState = c.state
		if c.sev != "" {
			a := report.Anomaly{Severity: c.sev}
			if c.close {
				a.ClosedAt = &closed
			}
			r.Anomalies = append(r.Anomalies, a)
		}
		if r.Decide(); r.Decision != c.want {
			t.Errorf("%+v: got %s", c, r.Decision)
		}
	}
}

func TestTheSummaryIsTheSkills(t *testing.T) {
	r := report.NewWatchReport()
	planned := int64(100)
	r.Target, r.TerminalState, r.TotalSteps, r.PlannedSteps, r.StopReason = "run.log", report.StateSucceeded, 100, &planned, "the process ended with exit code 0"
	r.FinalMetrics = map[string]report.Number{"zeta": 1, "lr": 1e-4, "loss": 0.25}
	r.Decision, r.Confidence = report.Go, report.ConfidenceHigh
	var b strings.Builder
	if err := report.WriteWatchText(&b, r, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	want := `Training Complete
=================
Target: run.log
Terminal state: SUCCEEDED
Steps completed: 100/100
Final metrics: loss=0.25, lr=1e-4, zeta=1
Best checkpoint: none
Reason for stopping: the process ended with exit code 0

Decision: GO
Confidence: high
`
	if b.String() != want {
		t.Errorf("want\n%sgot\n%s", want, b.String())
	}
}
