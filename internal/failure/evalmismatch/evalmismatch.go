// Package evalmismatch is the failure class EvalMismatch: training looks right and evaluation does not, because the two are not done alike.
package evalmismatch

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
		ID:         report.EvalMismatch,
		Doc:        "Training looks right and evaluation does not, because the two are not done alike.",
		Severity:   report.High,
		Signatures: failure.Load(files, "signatures"),
		Detectors:  detectors,
		Causes:     causes,
	}
}
