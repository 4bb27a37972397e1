package pipeline_test

import (
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

func TestTheFirstFailedTaskIsTheOneToRepair(t *testing.T) {
	at := func(m int) time.Time { return time.Date(2026, 1, 2, 3, m, 0, 0, time.UTC) }
	f := failuretest.File(t, "\n")
	f.Pipeline = &run.Pipeline{State: "PIPELINE_STATE_FAILED", Tasks: []run.Task{
		{Name: "root", State: "FAILED", Error: "The DAG failed because some tasks failed. The failed tasks are: [train].", End: at(1)},
		{Name: "eval", State: "NOT_TRIGGERED"},
		{Name: "late", State: "FAILED", Error: "exit code 1", End: at(9)},
		{Name: "train", State: "FAILED", Error: "exit code 1", End: at(2)},
	}}
	got := failuretest.Run(t, report.Pipeline, "failed-task", f)
	if len(got) != 1 || got[0].Text != "train: exit code 1" || got[0].Role != report.RoleSymptom {
		t.Fatalf("want task train as a symptom, got %+v", got)
	}
}

func TestAnErrorOfTheServiceIsACause(t *testing.T) {
	f := failuretest.File(t, "\n")
	f.Pipeline = &run.Pipeline{State: "FAILED", Tasks: []run.Task{{Name: "fit", State: "FAILED", Error: "FAILED_PRECONDITION: input artifact gs://b/x does not exist"}}}
	if got := failuretest.Run(t, report.Pipeline, "failed-task", f); len(got) != 1 || got[0].Role != report.RoleCause {
		t.Fatalf("want a cause, got %+v", got)
	}
}

func TestAnExpiredJob(t *testing.T) {
	f := failuretest.File(t, "\n")
	f.Pipeline = &run.Pipeline{State: "JOB_STATE_EXPIRED"}
	if got := failuretest.Run(t, report.Pipeline, "expired-job", f); len(got) != 1 || got[0].Cause != "time-limit" {
		t.Fatalf("want the time limit, got %+v", got)
	}
}

func TestAStatedReason(t *testing.T) {
	f := failuretest.File(t, "\n")
	f.AddFact(run.Fact{Key: "config.failurereason", Value: "Step failure: One or multiple steps failed."})
	f.AddFact(run.Fact{Key: "config.steps.0.failurereason", Value: "ClientError: Could not find model data"})
	got := failuretest.Run(t, report.Pipeline, "stated-failure-reason", f)
	if len(got) != 1 || got[0].Text != "ClientError: Could not find model data" {
		t.Fatalf("want the step's own reason, got %+v", got)
	}
}

func TestNotTriggeredIsNotAFailure(t *testing.T) {
	for _, e := range failuretest.File(t, "  \"state\": \"NOT_TRIGGERED\",\n").Events {
		if e.Sign.Role == report.RoleCause || e.Sign.Role == report.RoleSymptom {
			t.Errorf("%s takes NOT_TRIGGERED for a failure", e.Sign.ID)
		}
	}
}
