package pipeline

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var detectors = []failure.Detector{
	{
		Name: "failed-task",
		Doc:  "The first task that failed of a pipeline, or a job whose state says that it failed.",
		Run:  failedTask,
	},
	{
		Name: "expired-job",
		Doc:  "A job that the service ended at its own time limit.",
		Run:  expiredJob,
	},
	{
		Name: "stated-failure-reason",
		Doc:  "A failure reason that an exported job or step states, in a form of no service known here.",
		Run:  statedReason,
	},
}

// everythingElse explains a failed task: the program's own error.
var everythingElse = []report.Class{
	report.DataPipeline, report.Config, report.IOCheckpoint, report.OOM, report.CUDA, report.NCCL,
	report.NaNInf, report.Divergence, report.Crash, report.CloudQuota, report.Stalled, report.EvalMismatch,
}

// ofTheService are the words of a task's error that speak of the orchestrator
// and not of the program in it.
var ofTheService = regexp.MustCompile(`(?i)invalid.?argument|failed.?precondition|not.?found|does not exist|unable to (start|parse|resolve)|image|pull|StartError|executable|machine type|deadline|internal error|compile|placeholder|input artifact`)

// ofOthers is the text of a parent that failed since a child failed.
var ofOthers = regexp.MustCompile(`(?i)^$|DAG failed|some tasks failed|failed tasks are|child '|upstream`)

// failedTask sees the first failed task. The orchestrator's word is a symptom
// unless its error speaks of the orchestrator's own work.
func failedTask(f *casefile.File) []failure.Sighting {
	p := f.Pipeline
	if p == nil || succeeded(p.State) {
		return nil
	}
	t := firstFailed(p)
	if t == nil {
		if t = (&run.Task{Name: p.Name, State: p.State, Error: p.Error, Ref: p.Ref}); !t.Failed() {
			return nil
		}
	}
	s := failure.Sighting{
		Type: report.AnomalyTaskFailed, Severity: report.Blocker, Role: report.RoleSymptom, Weight: 0.65, Cause: "task-program-failed",
		Rank: run.NoRank, Step: -1, Ref: t.Ref, Text: strings.TrimSpace(t.Name + ": " + t.Error),
		Says: fmt.Sprintf("Task %s is the first that failed.", run.Name(t.Name)), YieldsTo: everythingElse,
	}
	if ofTheService.MatchString(t.Error) && !ofOthers.MatchString(t.Error) {
		s.Role, s.Weight, s.Cause = report.RoleCause, 0.6, "service-refused"
	}
	return []failure.Sighting{s}
}

// firstFailed is the failed task that ended first, those that only failed with
// a child left out where others are there.
func firstFailed(p *run.Pipeline) *run.Task {
	all := p.Failed()
	if len(all) == 0 {
		return nil
	}
	i := max(0, slices.IndexFunc(all, func(t run.Task) bool { return !ofOthers.MatchString(t.Error) }))
	return &all[i]
}

func succeeded(state string) bool {
	return strings.HasSuffix(strings.ToUpper(state), "SUCCEEDED")
}

// expiredJob sees a job that its own time limit ended.
func expiredJob(f *casefile.File) []failure.Sighting {
	if f.Pipeline == nil || !strings.HasSuffix(strings.ToUpper(f.Pipeline.State), "EXPIRED") {
		return nil
	}
	return []failure.Sighting{{
		Type: report.AnomalyJobFailed, Severity: report.High, Role: report.RoleCause, Weight: 0.8, Cause: "time-limit",
		Rank: run.NoRank, Step: -1, Ref: f.Pipeline.Ref, Text: f.Pipeline.State, Says: "The job ran into its own time limit.",
	}}
}

var reasonKey = regexp.MustCompile(`(?i)(failure_?reason|error_?message|status_?message|exit_?message)$`)

// onlyParent are the words of a parent that names no reason of its own.
var onlyParent = regexp.MustCompile(`(?i)^\W*$|^(null|none|\{\}|\[\])$|multiple steps failed|some tasks failed|one or more`)

// programWords speak of the program in the step, whose own log says why.
var programWords = regexp.MustCompile(`(?i)AlgorithmError|ExecuteUserScript|exit ?code|exited with`)

// statedReason sees the reasons that exports state in fields of their own.
func statedReason(f *casefile.File) []failure.Sighting {
	if f.Pipeline != nil {
		return nil
	}
	for _, v := range f.Facts {
		if !reasonKey.MatchString(v.Key) || onlyParent.MatchString(v.Value) {
			continue
		}
		s := failure.Sighting{
			Type: report.AnomalyTaskFailed, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.7, Cause: "missing-input",
			Rank: run.NoRank, Step: -1, Ref: v.From, Text: v.Value, Says: "A step of the pipeline states why it failed.",
			YieldsTo: everythingElse,
		}
		if programWords.MatchString(v.Value) {
			s.Role, s.Weight, s.Cause = report.RoleSymptom, 0.55, "task-program-failed"
		}
		return []failure.Sighting{s}
	}
	return nil
}
