// Package datapipeline is the failure class DataPipeline: the data did not have the form the model needs: malformed batches, shapes, types, corrupt or missing samples.
package datapipeline

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
		ID:         report.DataPipeline,
		Doc:        "The data did not have the form the model needs: malformed batches, shapes, types, corrupt or missing samples.",
		Severity:   report.Blocker,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
		Fixes:      []report.Fix{findSample, guardSample},
		Usual:      "no loader, collator or dataset raised, and no label, shape or file of the data was complained of",
	}
}
