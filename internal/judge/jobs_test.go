package judge_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// jobs looks at a job every five minutes; talks says at which looks its log has
// a new line.
func jobs(t *testing.T, p run.Pipeline, looks int, talks func(i int) string) *casefile.File {
	t.Helper()
	f := casefile.New(failuretest.Book(t).Matcher)
	f.Following, f.Pulse.Interval = true, time.Minute
	size := 0
	for i := range looks {
		o := run.Observation{At: time.Date(2026, 1, 1, 12, 5*i, 0, 0, time.UTC)}
		if i == 0 {
			o.Pipeline = &p
		}
		if text := talks(i); text != "" {
			o.Streams = []run.Stream{{Name: "train/workerpool0-0.log", Kind: "log", Rank: run.NoRank, Offset: int64(size), ModTime: o.At, Open: func(context.Context) (io.ReadCloser, error) {
				return io.NopCloser(strings.NewReader(text)), nil
			}}}
			size += len(text)
		}
		if err := f.Add(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func silent(int) string { return "" }

func chatty(i int) string { return fmt.Sprintf("shard %d of the data set is ready\n", i) }

func TestWhatStandsStillAtAService(t *testing.T) {
	running := []run.Task{{Name: "train", State: "RUNNING"}}
	for _, c := range []struct {
		name  string
		p     run.Pipeline
		talks func(int) string
		want  report.AnomalyType // "": nothing
	}{
		{"a pipeline without a change of state and without a line", run.Pipeline{Kind: "pipeline", State: "PIPELINE_STATE_RUNNING", Tasks: running}, silent, report.AnomalyStuckPipeline},
		{"a pipeline whose long task still writes", run.Pipeline{Kind: "pipeline", State: "PIPELINE_STATE_RUNNING", Tasks: running}, chatty, ""},
		{"a task that wrote at first only", run.Pipeline{Kind: "pipeline", State: "PIPELINE_STATE_RUNNING", Tasks: running}, func(i int) string {
			if i < 3 {
				return chatty(i)
			}
			return ""
		}, report.AnomalyStuckPipeline},
		{"a pipeline that waits for its turn", run.Pipeline{Kind: "pipeline", State: "PIPELINE_STATE_PENDING"}, silent, ""},
		{"a job that waits for machines", run.Pipeline{Kind: "custom-job", State: "JOB_STATE_QUEUED"}, silent, ""},
		{"a running job without a line", run.Pipeline{Kind: "custom-job", State: "JOB_STATE_RUNNING"}, silent, report.AnomalyStalled},
		{"a running job that writes", run.Pipeline{Kind: "custom-job", State: "JOB_STATE_RUNNING"}, chatty, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := jobs(t, c.p, 20, c.talks)
			var got []report.AnomalyType
			for _, a := range judge.Anomalies(failuretest.Book(t), f) {
				if a.Severity != report.High {
					t.Errorf("%s is %s", a.Type, a.Severity)
				}
				got = append(got, a.Type)
			}
			if c.want == "" && len(got) > 0 || c.want != "" && !slices.Equal(got, []report.AnomalyType{c.want}) {
				t.Errorf("want %q, got %v", c.want, got)
			}
		})
	}
}

// The states of the skill's two tables, as the service spells them.
func TestStatesOfJobs(t *testing.T) {
	for _, c := range []struct {
		p    run.Pipeline
		want string // anomaly and severity, then how the run ended
	}{
		{run.Pipeline{Kind: "pipeline", State: "PIPELINE_STATE_FAILED"}, "pipeline-failed blocker FAILED"},
		{run.Pipeline{Kind: "pipeline", State: "PIPELINE_STATE_CANCELLED"}, "cancelled high CANCELLED"},
		{run.Pipeline{Kind: "pipeline", State: "PIPELINE_STATE_RUNNING", Tasks: []run.Task{
			{Name: "loop", State: "FAILED", Group: true}, {Name: "fit", State: "FAILED", Error: "exited", Earlier: []string{"a"}},
		}}, "task-failed high RUNNING"},
		{run.Pipeline{Kind: "custom-job", State: "JOB_STATE_FAILED"}, "job-failed blocker FAILED"},
		{run.Pipeline{Kind: "custom-job", State: "JOB_STATE_CANCELLED"}, "cancelled high CANCELLED"},
		{run.Pipeline{Kind: "custom-job", State: "JOB_STATE_EXPIRED"}, "job-failed high TIMEOUT"},
		{run.Pipeline{Kind: "custom-job", State: "JOB_STATE_PARTIALLY_SUCCEEDED"}, " SUCCEEDED"},
		{run.Pipeline{Kind: "custom-job", State: "JOB_STATE_SUCCEEDED"}, " SUCCEEDED"},
	} {
		t.Run(c.p.State, func(t *testing.T) {
			c.p.Name = "job"
			f := jobs(t, c.p, 1, silent)
			end := judge.Ended(failuretest.Book(t), f).State
			f.Pulse.Last = end.Ended()
			got := ""
			for _, a := range judge.Anomalies(failuretest.Book(t), f) {
				if a.Type == report.AnomalyTaskFailed && c.p.State != "PIPELINE_STATE_RUNNING" {
					continue // a symptom of the same
				}
				got = fmt.Sprintf("%s %s", a.Type, a.Severity)
				if len(c.p.Tasks) > 0 && a.Description != "task fit FAILED after a retry: “exited”" {
					t.Errorf("says %q", a.Description)
				}
			}
			if got += " " + string(end); got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
}

func TestAnErrorInTheEventsOfAPipeline(t *testing.T) {
	f := jobs(t, run.Pipeline{Kind: "pipeline", State: "PIPELINE_STATE_RUNNING", Tasks: []run.Task{{Name: "fit", State: "RUNNING"}}}, 1, silent)
	f.AddFact(run.Fact{Key: run.FactTaskError, Value: "fit: busy", From: run.Ref{File: "events.jsonl", Line: 3}})
	all := judge.Anomalies(failuretest.Book(t), f)
	if len(all) != 1 || all[0].Type != report.AnomalyLogError || all[0].Severity != report.Medium || !strings.Contains(all[0].Description, "fit: busy") {
		t.Errorf("got %+v", all)
	}
	f.Pipeline.Tasks[0].State = "SUCCEEDED"
	if all := judge.Anomalies(failuretest.Book(t), f); len(all) > 0 {
		t.Errorf("the next attempt succeeded, got %+v", all)
	}
}

// TestAJobsStateDecides: what a scheduler shows now counts, whatever the last
// words of the log are.
func TestAJobsStateDecides(t *testing.T) {
	const log = "step 9/9 loss 1.0\nTraining completed.\n"
	for state, want := range map[string]report.TerminalState{
		"NODE_FAIL": report.StateFailed, "OUT_OF_MEMORY": report.StateFailed, "TIMEOUT": report.StateTimeout, "DEADLINE": report.StateTimeout, "PREEMPTED": report.StateCancelled,
		"CANCELLED": report.StateCancelled, "COMPLETED": report.StateSucceeded, "PENDING": report.StateRunning, "RUNNING": report.StateRunning, "COMPLETING": report.StateRunning,
		"UNKNOWN": report.StateSucceeded, // the log's words are all there is
	} {
		f := failuretest.File(t, log)
		f.Pipeline = &run.Pipeline{Name: "job 7", Kind: "job", State: state}
		f.Pulse.Last = true
		if e := judge.Ended(failuretest.Book(t), f); e.State != want {
			t.Errorf("%s ends as %s (%s), want %s", state, e.State, e.Why, want)
		}
	}
	exported := failuretest.File(t, log)
	exported.Pipeline = &run.Pipeline{Name: "job 7", Kind: "job", State: "RUNNING", Ref: run.Ref{File: "scontrol.txt", Line: 1}}
	exported.Pulse.Last = true
	if e := judge.Ended(failuretest.Book(t), exported); e.State != report.StateSucceeded {
		t.Errorf("an exported state, which may be old: %s", e.State)
	}
}

func TestALiveJobRuns(t *testing.T) {
	for state, want := range map[string]report.RunStatus{"RUNNING": report.Running, "PENDING": report.Running, "COMPLETED": report.Healthy} {
		f := failuretest.File(t, "step 1/9 loss 1.0\n")
		f.Pipeline = &run.Pipeline{Name: "job 7", Kind: "job", State: state}
		if r := judge.Case(failuretest.Book(t), f); r.RunStatus != want {
			t.Errorf("%s is %s, want %s", state, r.RunStatus, want)
		}
	}
}
