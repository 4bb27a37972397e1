// Package iocheckpoint is the failure class IOCheckpoint: saving or loading failed: torn files, missing keys, permissions, full or slow storage.
package iocheckpoint

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
		ID:         report.IOCheckpoint,
		Doc:        "Saving or loading failed: torn files, missing keys, permissions, full or slow storage.",
		Severity:   report.Blocker,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
		Fixes:      []report.Fix{lastComplete, checkPath},
		Usual:      "no write or load failed, and no disk, quota, path or object store was complained of",
	}
}
