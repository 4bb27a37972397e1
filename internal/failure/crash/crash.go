// Package crash is the failure class of processes that a signal ended, or that
// ended without a word of their own.
package crash

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
		ID: report.Crash,
		Doc: "A process was ended by a signal (SIGSEGV, SIGBUS, SIGKILL, SIGHUP), by an abort of a native library, by a limit of threads or files, or by preemption. " +
			"SIGKILL counts as out of memory only where something proves it.",
		Severity:   report.Blocker,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
		Fixes:      []report.Fix{kernelLog, restart},
		Usual:      "no process was ended by a signal of its own",
	}
}
