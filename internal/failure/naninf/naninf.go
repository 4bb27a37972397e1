// Package naninf is the failure class NaNInf: losses, gradients or weights became NaN or Inf.
package naninf

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
		ID:         report.NaNInf,
		Doc:        "Losses, gradients or weights became NaN or Inf.",
		Severity:   report.Blocker,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
	}
}
