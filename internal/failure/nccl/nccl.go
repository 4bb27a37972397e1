// Package nccl is the failure class of ranks that could not reach, join or wait
// for each other: NCCL, Gloo, MPI, rendezvous, stores. Most of its lines are
// symptoms: what a rank that failed for another reason looks like from the others.
package nccl

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
		ID: report.NCCL,
		Doc: "Ranks could not reach, join or wait for each other: a rendezvous that fewer ranks joined, an address, port or interface that does not work, a fabric error, " +
			"ranks that call different collectives. A timeout alone is a symptom: usually another rank failed or stood still before.",
		Severity:   report.Blocker,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
		Fixes:      []report.Fix{allRankLogs, debugRun},
		Usual:      "no collective timed out and no connection between ranks failed",
	}
}
