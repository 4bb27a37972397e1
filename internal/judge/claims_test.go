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

// claimed is a case file of a log whose run a tracker calls state, and last heard
// from so long ago; 0 for never.
func claimed(t *testing.T, log, state string, ago time.Duration) *casefile.File {
	t.Helper()
	f := failuretest.File(t, log)
	f.At = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)
	f.AddFact(run.Fact{Key: run.FactTracker, Value: "W&B"})
	f.AddFact(run.Fact{Key: run.FactTrackerState, Value: state})
	if ago > 0 {
		f.AddFact(run.Fact{Key: run.FactTrackerBeat, Value: f.At.Add(-ago).Format(time.RFC3339)})
	}
	return f
}

func TestATrackersClaimIsChecked(t *testing.T) {
	trains, done := steps("", 1, 40), steps("", 1, 100)+"Training completed.\n"
	crashes := steps("", 1, 40) + raise("", "/app/train.py", "ValueError: no such optimizer")
	for name, c := range map[string]struct {
		log, state string
		ago        time.Duration
		status     report.RunStatus
		says       string // in the verdict; "" for no word of the tracker
		end        report.TerminalState
	}{
		"running, and heard from":          {trains, "running", time.Minute, report.Running, "", report.StateRunning},
		"running for weeks after its end":  {trains, "running", 17 * 24 * time.Hour, report.Crashed, "still calls the run running, but its last heartbeat, of 2026-03-03T12:00:00Z, is 17 days old", report.StateFailed},
		"running, and the log has a crash": {crashes, "running", time.Minute, report.Crashed, "calls the run running, but what was read says that it crashed", report.StateRunning},
		"crashed, and it trains":           {trains, "crashed", 20 * time.Second, report.Running, "calls the run crashed, but heard from it 20 s ago", report.StateRunning},
		"crashed, and nobody says why":     {trains, "crashed", time.Hour, report.Crashed, "its heartbeats stopped", report.StateFailed},
		"crashed, and its log is complete": {done, "crashed", time.Hour, report.Healthy, "calls the run crashed, but its log says that the training is complete", report.StateRunning},
		"failed, and nobody says why":      {trains, "failed", time.Hour, report.Crashed, "calls the run failed, and nothing that was read says why", report.StateFailed},
		"failed, and the log says why":     {crashes, "failed", time.Hour, report.Crashed, "", report.StateFailed},
		"finished":                         {done, "finished", time.Hour, report.Healthy, "", report.StateSucceeded},
		"finished, and the log crashes":    {crashes, "finished", time.Hour, report.Crashed, "calls the run finished, but what was read says that it crashed", report.StateSucceeded},
		"killed":                           {trains, "killed", time.Hour, report.Crashed, "stopped before it could finish", report.StateCancelled},
		"running, as MLflow spells it":     {trains, "RUNNING", 0, report.Healthy, "", report.StateRunning},
	} {
		t.Run(name, func(t *testing.T) {
			f, book := claimed(t, c.log, c.state, c.ago), failuretest.Book(t)
			r := judge.Case(book, f)
			if r.RunStatus != c.status {
				t.Errorf("status %s, want %s", r.RunStatus, c.status)
			}
			said := r.RootCause + "\n" + strings.Join(r.ContributingFactors, "\n")
			if !strings.Contains(said, c.says) || c.says == "" && strings.Contains(said, "W&B") {
				t.Errorf("want %q in\n%s", c.says, said)
			}
			if e := judge.Ended(book, f); e.State != c.end {
				t.Errorf("ended %s (%s), want %s", e.State, e.Why, c.end)
			}
		})
	}
}

func TestARecordOfAStateIsNoEnd(t *testing.T) {
	f := claimed(t, steps("", 1, 40), "", 0)
	f.AddFact(run.Fact{Key: run.FactTrackerState, Value: "finished", From: run.Ref{File: "run-x.wandb"}})
	if e := judge.Ended(failuretest.Book(t), f); e.State != report.StateRunning {
		t.Errorf("ended %s (%s)", e.State, e.Why)
	}
}
