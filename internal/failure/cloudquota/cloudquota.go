// Package cloudquota is the failure class CloudQuota: the cloud refused: permissions, scopes, quota, capacity.
package cloudquota

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
		ID:         report.CloudQuota,
		Doc:        "The cloud refused: permissions, scopes, quota, capacity.",
		Severity:   report.Blocker,
		Signatures: failure.Load(signatures),
		Detectors:  detectors,
		Causes:     causes,
		Fixes:      []report.Fix{showIdentity, grantRole},
		Usual:      "no permission, quota, credential or capacity was complained of",
	}
}
