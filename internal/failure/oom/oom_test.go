package oom_test

import (
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

const torchOOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.69 GiB of which 100.56 MiB is free."

func TestLibraryOnFullGPU(t *testing.T) {
	failed := "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`\n"
	for name, c := range map[string]struct {
		log  string
		want int
	}{
		"a full GPU makes it an out-of-memory failure": {"gpu 0: 10990 MiB, 11019 MiB, 96 %\n" + failed, 1},
		"a GPU with room leaves it to the CUDA class":  {"gpu 0: 512 MiB, 11019 MiB, 40 %\n" + failed, 0},
		"without evidence nothing is said":             {failed, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := failuretest.Run(t, report.OOM, "library-on-full-gpu", failuretest.File(t, c.log))
			if len(got) != c.want {
				t.Fatalf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}

func TestMemoryThatGrewBeforeTheKill(t *testing.T) {
	log := "step 10 loss 2.1 host_rss 40\nstep 20 loss 2.0 host_rss 80\nstep 30 loss 1.9 host_rss 120\nstep 40 loss 1.9 host_rss 160\nstep 50 loss 1.8 host_rss 200\n" +
		"run.sh: line 3:  4021 Killed                  python train.py\n"
	if got := failuretest.Run(t, report.OOM, "memory-grew-before-the-end", failuretest.File(t, log)); len(got) != 1 {
		t.Fatalf("want one sighting, got %+v", got)
	}
}

// The quick heuristic: out of memory after validation starts points to the
// evaluation batch.
func TestEvaluationCause(t *testing.T) {
	log := "Traceback (most recent call last):\n  File \"train.py\", line 80, in <module>\n    main()\n  File \"train.py\", line 60, in validate\n    out = model(x)\n" + torchOOM + "\n"
	f := failuretest.File(t, log)
	strength, evidence := failuretest.Book(t).Class(report.OOM).Cause("evaluation").When(f)
	if strength <= 0.5 || len(evidence) == 0 {
		t.Fatalf("want the evaluation cause, got strength %v, evidence %v", strength, evidence)
	}
}

func TestSurvivedOutOfMemoryHeals(t *testing.T) {
	f := failuretest.File(t, "step 1 loss 2.1\n"+torchOOM+"\nstep 2 loss 2.0\nstep 3 loss 1.9\nstep 4 loss 1.8\n")
	for _, e := range f.EventsOf("cuda-out-of-memory") {
		if !f.Recovered(e) {
			t.Fatal("want the failure healed by three further steps")
		}
	}
}

func TestRecordSaysOutOfMemory(t *testing.T) {
	f := failuretest.File(t, "step 1 loss 2\n")
	f.AddFact(run.Fact{Key: "container.oom_killed", Value: "true"})
	if got := failuretest.Run(t, report.OOM, "service-says-out-of-memory", f); len(got) != 1 {
		t.Fatalf("want one sighting, got %+v", got)
	}
}
