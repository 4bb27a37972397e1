package cloudquota

import (
	"fmt"
	"regexp"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var detectors = []failure.Detector{
	{
		Name: "refused-before-start",
		Doc:  "A task or job whose error speaks of a permission, quota or capacity, in the state that a service exported.",
		Run:  refusedTask,
	},
}

var refusal = regexp.MustCompile(`(?i)permission|quota|RESOURCE_EXHAUSTED|insufficient (resources|capacity)|enough resources|not authorized|unauthorized|access denied|forbidden|act as|billing|stockout`)

var (
	stockoutWords = regexp.MustCompile(`(?i)insufficient (resources|capacity)|enough resources|stockout`)
	quotaWords    = regexp.MustCompile(`(?i)quota|RESOURCE_EXHAUSTED`)
)

// memoryWords tell a quota from memory that ran out: both say RESOURCE_EXHAUSTED.
var memoryWords = regexp.MustCompile(`(?i)out of memory|allocat|oom\b|hbm|bytes`)

// refusedTask sees the words of refusal in the errors of tasks and jobs.
func refusedTask(f *casefile.File) []failure.Sighting {
	p := f.Pipeline
	if p == nil {
		return nil
	}
	tasks := append([]run.Task{{Name: p.Name, Error: p.Error, Ref: p.Ref}}, p.Tasks...)
	for _, t := range tasks {
		if !refusal.MatchString(t.Error) || memoryWords.MatchString(t.Error) {
			continue
		}
		return []failure.Sighting{{
			Type: report.AnomalyJobFailed, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.75, Cause: causeOfText(t.Error),
			Rank: run.NoRank, Step: -1, Ref: t.Ref, Text: t.Error,
			Says: fmt.Sprintf("%s was refused: a permission, quota or capacity is missing.", run.Name(t.Name)),
		}}
	}
	return nil
}

// causeOfText is the cause that the words of a refusal name.
func causeOfText(text string) string {
	switch {
	case stockoutWords.MatchString(text):
		return "stockout"
	case quotaWords.MatchString(text):
		return "quota"
	}
	return "missing-role"
}
