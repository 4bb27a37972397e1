// Package divergence is the failure class Divergence: the loss blows up or the optimizer's schedule is unstable.
package divergence

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
		ID:         report.Divergence,
		Doc:        "The loss blows up or the optimizer's schedule is unstable.",
		Severity:   report.High,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
	}
}
