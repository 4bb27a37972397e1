// Package evalmismatch is the failure class EvalMismatch: training looks right and evaluation does not, because the two are not done alike.
package evalmismatch

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
		ID:         report.EvalMismatch,
		Doc:        "Training looks right and evaluation does not, because the two are not done alike.",
		Severity:   report.High,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
	}
}
