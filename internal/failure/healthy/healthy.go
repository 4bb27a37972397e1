// Package healthy is what healthy runs print: lines that a careless reader takes
// for failures (role benign), and the words with which a run says that it ended
// well, began again or was resumed (facts run.outcome, run.resumed, ...).
package healthy

import (
	_ "embed" // signatures.json

	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

//go:embed signatures.json
var signatures []byte

// Class returns the signatures of health; it has no causes.
func Class() *failure.Class {
	return &failure.Class{
		ID:         report.None,
		Doc:        "What healthy runs print.",
		Severity:   report.Low,
		Signatures: failure.Load(signatures),
	}
}
