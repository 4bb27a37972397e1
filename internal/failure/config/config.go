// Package config is the failure class Config: flags, versions or settings that do not fit each other, the model or the hardware.
package config

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
		ID:         report.Config,
		Doc:        "Flags, versions or settings that do not fit each other, the model or the hardware.",
		Severity:   report.Blocker,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
		Fixes:      []report.Fix{compareConfig, correctValue},
		Usual:      "no argument, import, version or shape was complained of",
	}
}
