// Package pipeline is the failure class Pipeline: the orchestrator could not start, run or finish a step of the pipeline.
package pipeline

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
		ID:         report.Pipeline,
		Doc:        "The orchestrator could not start, run or finish a step of the pipeline.",
		Severity:   report.Blocker,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
		Fixes:      []report.Fix{fetchTaskLog, describeTask},
		Usual:      "no task, replica or step of an orchestrator failed in what was read",
	}
}
