// Package stalled is the failure class of runs that stand still without an error
// of their own: a lock, a barrier, a loader or storage that nobody releases.
package stalled

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
		ID: report.Stalled,
		Doc: "The run makes no progress and says nothing of why: it waits for a lock, for ranks that never started, for loader workers or storage; or it was ended by a limit or a " +
			"person after it had stood still. A rank that failed, or a collective that timed out, belongs to another class unless the waiting came first.",
		Severity:   report.High,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
		Fixes:      []report.Fix{dumpStacks, processStates},
		Usual:      "the run did not stand still without an error",
	}
}
