package oom_test

import (
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/run"
)

// TestSomebodyElseHoldsTheGPU: what a live source sees of a GPU's memory reaches
// the diagnosis.
func TestSomebodyElseHoldsTheGPU(t *testing.T) {
	for name, c := range map[string]struct {
		held   string
		shared bool
	}{"most of it": {"28000", true}, "the context of an idle one": {"510", false}, "nobody any more": {"0", false}} {
		t.Run(name, func(t *testing.T) {
			f := failuretest.File(t, "step 1 loss 2.0\n"+torchOOM+"\n")
			f.AddFact(run.Fact{Key: "gpu.0" + run.GPUForeign, Value: "30000"}) // at an earlier look
			f.AddFact(run.Fact{Key: "gpu.0" + run.GPUForeign, Value: c.held})
			f.AddFact(run.Fact{Key: "gpu.0" + run.GPUStranger, Value: "4021 python"})
			r := judge.Case(failuretest.Book(t), f)
			told := strings.Contains(strings.Join(r.ContributingFactors, "\n"), "27.3 GB of GPU 0, most of it process 4021 python")
			if shared := strings.Contains(r.RootCause, "Another process"); shared != c.shared || told != c.shared {
				t.Errorf("root cause %q, factors %q", r.RootCause, r.ContributingFactors)
			}
		})
	}
}
