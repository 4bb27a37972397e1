// Package naninf is the failure class NaNInf: losses, gradients or weights became NaN or Inf.
package naninf

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
		ID:         report.NaNInf,
		Doc:        "Losses, gradients or weights became NaN or Inf.",
		Severity:   report.Blocker,
		Signatures: failure.Load(files, "signatures"),
		Detectors:  detectors,
		Causes:     causes,
	}
}
