package judge

import (
	"fmt"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// JobState is a service's word for a state without its prefix: RUNNING,
// SUCCEEDED, FAILED, CANCELLED, EXPIRED, PENDING.
func JobState(s string) string {
	s = strings.ToUpper(s)
	for _, p := range []string{"PIPELINE_STATE_", "JOB_STATE_", "TASK_STATE_"} {
		s = strings.TrimPrefix(s, p)
	}
	return s
}

// jobFailed tells that the pipeline or job as a whole failed or was cancelled.
func jobFailed(f *casefile.File) *report.Anomaly {
	p := f.Pipeline
	if p == nil {
		return nil
	}
	a := &report.Anomaly{Type: report.AnomalyJobFailed, Severity: report.Blocker, Class: report.Pipeline, Ref: at(f, p.Ref, run.NoRank)}
	if p.Kind == "pipeline" {
		a.Type = report.AnomalyPipelineFailed
	}
	switch JobState(p.State) {
	case "FAILED":
	case "CANCELLED", "CANCELLING":
		a.Type, a.Severity = report.AnomalyCancelled, report.High
	default:
		return nil
	}
	a.Description = strings.TrimSuffix(fmt.Sprintf("%s %s: %s", p.Name, JobState(p.State), p.Error), ": ")
	a.Fix = "read the error of the first task that failed"
	return a
}

func taskFailed(f *casefile.File) *report.Anomaly {
	if f.Pipeline == nil {
		return nil
	}
	for _, t := range f.Pipeline.Tasks {
		if JobState(t.State) == "FAILED" {
			return &report.Anomaly{
				Type: report.AnomalyTaskFailed, Severity: report.High, Class: report.Pipeline, Ref: at(f, t.Ref, run.NoRank),
				Description: strings.TrimSuffix(fmt.Sprintf("task %s FAILED: %s", t.Name, t.Error), ": "), Fix: "read the log of the task's job",
			}
		}
	}
	return nil
}

// stuckLooks is the skill's bound: no task changed its state for three intervals.
const stuckLooks = 3

func stuckPipeline(f *casefile.File) *report.Anomaly {
	p := f.Pipeline
	if p == nil || p.Kind != "pipeline" || JobState(p.State) != "RUNNING" || len(f.Logs()) > 0 {
		return nil
	}
	quiet := f.At.Sub(f.Pulse.Tasked)
	if f.Pulse.Tasked.IsZero() || quiet < max(stuckLooks*f.Pulse.Interval, slowWork) {
		return nil
	}
	return &report.Anomaly{
		Type: report.AnomalyStuckPipeline, Severity: report.High, Class: report.Pipeline,
		Description: fmt.Sprintf("%s is RUNNING and no task changed its state for %s.", p.Name, report.Took(quiet)), Fix: "look at the log of the running task, and at the quota of the region",
	}
}
