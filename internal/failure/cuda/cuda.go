// Package cuda is the failure class of the GPU's runtime: a CUDA or ROCm call, a
// kernel, one of their libraries, the driver, or the GPU itself failed.
package cuda

import (
	_ "embed" // signatures.json

	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

//go:embed signatures.json
var signatures []byte

// Class returns the class with its signatures, detectors and causes.
func Class() *failure.Class {
	return &failure.Class{
		ID: report.CUDA,
		Doc: "A CUDA, ROCm or other accelerator call failed: a device-side assertion, an illegal access, a library (cuBLAS, cuDNN) that could not run, a driver that does not " +
			"fit, or broken hardware. A device-side assertion stays in this class even where labels or indices are the reason.",
		Severity:   report.Blocker,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
		Fixes:      []report.Fix{blocking, driverState},
		Usual:      "no CUDA error, device-side assertion or Xid was seen",
	}
}
