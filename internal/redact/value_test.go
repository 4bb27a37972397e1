package redact_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
)

func TestValueReachesEveryStringOfADiagnosis(t *testing.T) {
	secret, gone := "DB_PASSWORD=hunter22", "DB_PASSWORD=[redacted]"
	build := func(s string) *report.Diagnosis {
		d := report.NewDiagnosis()
		command := s
		d.Target, d.Evidence, d.NextCommands = s, []string{s}, []string{s}
		d.EvidenceRefs = []report.EvidenceRef{{Text: s}}
		d.Fixes = []report.Fix{{Command: &command}}
		d.FailureContext.Lines = []string{s, "loss=0.5"}
		d.Metrics[s] = report.Metric{Count: 3}
		d.Pipeline = &report.PipelineState{Name: s, FailedTasks: []string{s}, Tasks: map[string]int{"FAILED": 1}}
		return d
	}
	got := build(secret)
	redact.Value(got)
	if d := cmp.Diff(build(gone), got); d != "" {
		t.Error(d)
	}
}
