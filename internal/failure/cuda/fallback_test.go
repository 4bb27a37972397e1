package cuda_test

import (
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

func TestWentOnWithoutGPU(t *testing.T) {
	const steps = "Use device: cpu\nstep 1 loss 2.0\nstep 2 loss 1.9\nstep 3 loss 1.8\nstep 4 loss 1.7\n"
	const refused = "UserWarning: CUDA initialization: Unexpected error from cudaGetDeviceCount(). Error 804: forward compatibility was attempted on non supported HW\n"
	s := failuretest.Run(t, report.CUDA, "went-on-without-gpu", failuretest.File(t, refused+steps))
	if len(s) != 1 || s[0].Status != report.Degraded {
		t.Errorf("error 804, then training on the CPU = %+v, want degraded", s)
	}
	for name, log := range map[string]string{
		"no GPU in the host": "UserWarning: CUDA initialization: Found no NVIDIA driver on your system.\n" + steps,
		"no warning":         steps,
	} {
		if s := failuretest.Run(t, report.CUDA, "went-on-without-gpu", failuretest.File(t, log)); len(s) != 0 {
			t.Errorf("%s: %+v, want nothing", name, s)
		}
	}
}
