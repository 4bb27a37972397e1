package cuda_test

import (
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

// The quick heuristic: a device-side assertion often means a label or index out
// of range; the kernel's own line says which.
func TestAssertionNamesItsCause(t *testing.T) {
	assert := "RuntimeError: CUDA error: device-side assert triggered\n"
	for cause, line := range map[string]string{
		"label-out-of-range": "../aten/src/ATen/native/cuda/Loss.cu:250: nll_loss_forward_reduce_cuda_kernel_2d: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed.\n",
		"index-out-of-range": "../aten/src/ATen/native/cuda/Indexing.cu:1292: indexSelectLargeIndex: block: [1,0,0], thread: [9,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n",
		"gpu-hardware":       "[118.8] NVRM: Xid (PCI:0000:03:00): 79, GPU has fallen off the bus.\n",
	} {
		t.Run(cause, func(t *testing.T) {
			f := failuretest.File(t, line+assert)
			if s, e := failuretest.Book(t).Class(report.CUDA).Cause(cause).When(f); s <= 0.5 || len(e) == 0 {
				t.Fatalf("want cause %s, got strength %v", cause, s)
			}
		})
	}
}

func TestUnknownGPUException(t *testing.T) {
	log := "Traceback (most recent call last):\n  File \"train.py\", line 8, in <module>\n    step()\nNewRuntimeError: CUDA kernel failed with an unknown status\n"
	if got := failuretest.Run(t, report.CUDA, "exception-in-gpu-code", failuretest.File(t, log)); len(got) != 1 {
		t.Fatalf("want one sighting, got %+v", got)
	}
}

func TestApplicationXidAlone(t *testing.T) {
	log := "step 1 loss 2\n[118.8] NVRM: Xid (PCI:0000:3b:00): 31, pid=219, name=python, Ch 00000008, MMU Fault\n"
	if got := failuretest.Run(t, report.CUDA, "application-fault-in-kernel-log", failuretest.File(t, log)); len(got) != 1 {
		t.Fatalf("want one sighting, got %+v", got)
	}
}
