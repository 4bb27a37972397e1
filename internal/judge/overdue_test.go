package judge_test

import (
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// TestARunThatRecordsNothingAnyMore: a tracker without heartbeats calls a killed run
// running for ever; its own rhythm tells that it is not.
func TestARunThatRecordsNothingAnyMore(t *testing.T) {
	now := time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		every, ago time.Duration
		state      string
		status     report.RunStatus
		says       string
	}{
		"it records":                      {10 * time.Second, time.Minute, "RUNNING", report.Running, ""},
		"it was killed two weeks ago":     {10 * time.Second, 14 * 24 * time.Hour, "RUNNING", report.Crashed, "MLflow still calls the run running, but its last metric, of 2026-03-06T12:00:00Z, is 14 days old (one came every 10s before). Nothing that was read says whether it was killed or hangs."},
		"an epoch takes it an hour":       {time.Hour, 2 * time.Hour, "RUNNING", report.Running, ""},
		"it ended, and that is long ago":  {10 * time.Second, 14 * 24 * time.Hour, "FINISHED", report.Healthy, ""},
		"a short pause of a quick run":    {10 * time.Second, 20 * time.Minute, "RUNNING", report.Running, ""},
		"it failed, and nobody knows why": {10 * time.Second, time.Hour, "FAILED", report.Crashed, "MLflow calls the run failed, and nothing that was read says why."},
	} {
		t.Run(name, func(t *testing.T) {
			book := failuretest.Book(t)
			f := casefile.New(book.Matcher)
			o := run.Observation{At: now, Facts: []run.Fact{{Key: run.FactTracker, Value: "MLflow"}, {Key: run.FactTrackerState, Value: c.state}}}
			for i := range 20 {
				o.Samples = append(o.Samples, run.Sample{Name: "loss", Step: int64(i), Value: 2 - 0.05*float64(i), At: now.Add(-c.ago - time.Duration(19-i)*c.every)})
			}
			if err := f.Add(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			r := judge.Case(book, f)
			said := r.RootCause + "\n" + strings.Join(r.ContributingFactors, "\n")
			if r.RunStatus != c.status || !strings.Contains(said, c.says) || c.says == "" && strings.Contains(said, "MLflow") {
				t.Errorf("want %s and %q, got %s and\n%s", c.status, c.says, r.RunStatus, said)
			}
		})
	}
}
