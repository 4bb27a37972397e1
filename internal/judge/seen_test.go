package judge_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/report"
)

// TestWhatWasSeenHasItsStep: a picture marks where each kind of trouble began.
func TestWhatWasSeenHasItsStep(t *testing.T) {
	log := steps("", 1, 60)
	for i := 61; i <= 70; i++ {
		log += fmt.Sprintf("step %d/100 loss nan lr 0.001\n", i)
	}
	for name, tc := range map[string]struct {
		log  string
		want map[report.AnomalyType]int64
	}{
		"a loss that is lost": {log, map[report.AnomalyType]int64{report.AnomalyNaNInf: 61}},
		"a healthy run":       {steps("", 1, 60), map[report.AnomalyType]int64{}},
	} {
		t.Run(name, func(t *testing.T) {
			f := failuretest.File(t, tc.log)
			got := map[report.AnomalyType]int64{}
			for _, a := range judge.Case(failuretest.Book(t), f).Seen {
				got[a.Type] = *a.Step
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Error(d)
			}
		})
	}
}
