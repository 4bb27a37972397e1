// Package oom is the failure class of memory that ran out: on a GPU or another
// accelerator, on the host, or within a container's or a job's limit.
package oom

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
		ID: report.OOM,
		Doc: "Memory ran out: an allocation on the GPU or accelerator was refused, or the host, a cgroup, a container or the batch system's limit was reached " +
			"and the kernel or a guard killed a process. An allocation that a batch-size finder catches, or that training survives, is not a failure.",
		Severity:   report.Blocker,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
		Fixes:      []report.Fix{readMemory, smallerMicroBatch},
		Usual:      "no refused allocation and no out-of-memory kill was seen",
	}
}
