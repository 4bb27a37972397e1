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
	if len(s) > 40 || strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_- ") != "" { // no word of a service
		return "UNKNOWN"
	}
	return s
}

// saying is an error of the run, quoted, behind what it is the error of.
func saying(words string) string {
	if words == "" {
		return ""
	}
	return ": " + run.Quote(words)
}

// jobEnds are the words of services and schedulers for a job that is over.
var jobEnds = map[string]report.TerminalState{
	"SUCCEEDED": report.StateSucceeded, "COMPLETED": report.StateSucceeded, "COMPLETE": report.StateSucceeded,
	"FAILED": report.StateFailed, "NODE_FAIL": report.StateFailed, "BOOT_FAIL": report.StateFailed, "OUT_OF_MEMORY": report.StateFailed, "LAUNCH_FAILED": report.StateFailed,
	"CANCELLED": report.StateCancelled, "PREEMPTED": report.StateCancelled, "REVOKED": report.StateCancelled,
	"EXPIRED": report.StateTimeout, "TIMEOUT": report.StateTimeout, "DEADLINE": report.StateTimeout,
}

// liveJob is the job that a service or scheduler shows now, nil where a job is
// only known from a file, or not known to its scheduler any more.
func liveJob(f *casefile.File) *run.Pipeline {
	if f.Pipeline == nil || f.Pipeline.Ref.File != "" {
		return nil
	}
	switch JobState(f.Pipeline.State) {
	case "", "UNKNOWN":
		return nil
	}
	return f.Pipeline
}

// queueStates are those of a job that is kept waiting.
var queueStates = map[string]bool{
	"PAUSED": true, "PENDING": true, "QUEUED": true, "CONFIGURING": true, "REQUEUED": true, "REQUEUE_HOLD": true, "REQUEUE_FED": true, "RESV_DEL_HOLD": true, "SPECIAL_EXIT": true, "SUSPENDED": true,
}

// jobFailed tells that the pipeline or job as a whole failed or was cancelled.
func jobFailed(f *casefile.File) *report.Anomaly {
	p := f.Pipeline
	if p == nil {
		return nil
	}
	a := &report.Anomaly{Type: report.AnomalyJobFailed, Severity: report.Blocker, Class: report.Pipeline, Ref: stated(f, p.Ref, p.Error)}
	if p.Kind == "pipeline" {
		a.Type = report.AnomalyPipelineFailed
	}
	switch state := JobState(p.State); {
	case jobEnds[state] == report.StateFailed:
	case jobEnds[state] == report.StateCancelled, state == "CANCELLING":
		a.Type, a.Severity = report.AnomalyCancelled, report.High
	default:
		return nil
	}
	a.Description = fmt.Sprintf("%s %s%s", run.Name(p.Name), JobState(p.State), saying(p.Error))
	a.Fix = "read the error of the first task that failed"
	return a
}

// stated is the place of a job's error, with its words: a resource is written
// anew whenever something in it changes, so what was kept of its lines may be of
// another time.
func stated(f *casefile.File, ref run.Ref, text string) *report.EvidenceRef {
	if ref.File == "" || text == "" {
		return at(f, ref, run.NoRank)
	}
	refs := &references{}
	refs.add(ref, run.NoRank, -1, report.RoleSymptom, text)
	return &refs.refs[0]
}

func taskFailed(f *casefile.File) *report.Anomaly {
	if f.Pipeline == nil {
		return nil
	}
	all := f.Pipeline.Failed()
	if len(all) == 0 {
		return nil
	}
	t, again := all[0], ""
	if n := len(t.Earlier); n > 0 {
		again = fmt.Sprintf(" after %d earlier attempts", n)
		if n == 1 {
			again = " after a retry"
		}
	}
	return &report.Anomaly{
		Type: report.AnomalyTaskFailed, Severity: report.High, Class: report.Pipeline, Ref: stated(f, t.Ref, t.Error),
		Description: fmt.Sprintf("task %s %s%s%s", run.Name(t.Name), JobState(t.State), again, saying(t.Error)), Fix: "read the log of the task's job",
	}
}

// errorInEvents tells what the orchestrator says of an attempt that failed: it may
// be repeated, so it is no failure yet, and none any more once the task succeeded.
func errorInEvents(f *casefile.File) *report.Anomaly {
	v, ok := f.Fact(run.FactTaskError)
	if !ok || f.Pipeline == nil {
		return nil
	}
	name, _, _ := strings.Cut(v.Value, ": ")
	for _, t := range f.Pipeline.Tasks {
		if s := JobState(t.State); t.Name == name && (s == "SUCCEEDED" || s == "SKIPPED") {
			return nil
		}
	}
	return &report.Anomaly{
		Type: report.AnomalyLogError, Severity: report.Medium, Class: report.Pipeline, Ref: at(f, v.From, run.NoRank),
		Description: "an error in the log of the pipeline's tasks: " + run.Quote(v.Value), Fix: "read the log of the task's job",
	}
}

// stuckLooks is the skill's bound: no task changed its state for three intervals.
const stuckLooks = 3

// stuckPipeline tells that nothing moves. A task may work for hours without a
// change of state, so its log has to be silent too.
func stuckPipeline(f *casefile.File) *report.Anomaly {
	p := f.Pipeline
	if p == nil || p.Kind != "pipeline" || JobState(p.State) != "RUNNING" || f.Pulse.Tasked.IsZero() {
		return nil
	}
	last, silent := f.Pulse.Tasked, ""
	if len(f.Logs()) > 0 {
		silent = " and no log has a new line"
		if f.Pulse.Spoke.After(last) {
			last = f.Pulse.Spoke
		}
	}
	quiet := f.At.Sub(last)
	if quiet < max(stuckLooks*f.Pulse.Interval, slowWork) {
		return nil
	}
	return &report.Anomaly{
		Type: report.AnomalyStuckPipeline, Severity: report.High, Class: report.Pipeline,
		Description: fmt.Sprintf("%s is RUNNING, no task changed its state%s for %s.", run.Name(p.Name), silent, report.Took(quiet)), Fix: "look at the log of the running task, and at the quota of the region",
	}
}

// silentJob reports whether a job that its service calls running has not logged a
// line for longer than its work may take.
func silentJob(f *casefile.File) bool {
	p := f.Pipeline
	return p != nil && JobState(p.State) == "RUNNING" && f.At.Sub(f.Pulse.Spoke) >= max(stuckLooks*f.Pulse.Interval, slowWork)
}

// paceless reports whether a job's rhythm says nothing of it now: it waits for
// machines, or the task that trains is not the one at work.
func paceless(f *casefile.File) bool {
	p := f.Pipeline
	if p == nil {
		return false
	}
	if queueStates[JobState(p.State)] {
		return true
	}
	m := f.Main()
	return p.Kind == "pipeline" && (m == nil || m.Advances == 0 || f.Pulse.Tasked.After(f.Pulse.Moved))
}
