// Package divergence is the failure class Divergence: the loss blows up or the optimizer's schedule is unstable.
package divergence

import (
	"embed"

	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

//go:embed all:signatures
var files embed.FS

// Class returns the class with its signatures, detectors and causes.
func Class() *failure.Class {
	return &failure.Class{
		ID:         report.Divergence,
		Doc:        "The loss blows up or the optimizer's schedule is unstable.",
		Severity:   report.High,
		Signatures: failure.Load(files, "signatures"),
		Detectors:  detectors,
		Causes:     causes,
	}
}
