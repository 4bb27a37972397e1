// Package report is the vocabulary of what trainmedic says: classes, decisions,
// the Diagnosis and its writers. Everything in it is public by contract; its
// strings are the same in JSON, text, documents and tests.
package report

// Class is one of the failure classes.
type Class string

// The thirteen classes of the skills, and the two answers beyond them.
const (
	NaNInf       Class = "nan-inf"
	OOM          Class = "oom"
	Divergence   Class = "optimization-divergence"
	CUDA         Class = "cuda-runtime"
	NCCL         Class = "nccl-distributed"
	DataPipeline Class = "data-pipeline"
	Config       Class = "config-error"
	IOCheckpoint Class = "io-checkpoint"
	Stalled      Class = "stalled"
	Crash        Class = "process-crash"
	EvalMismatch Class = "evaluation-mismatch"
	Pipeline     Class = "pipeline-orchestration"
	CloudQuota   Class = "cloud-permissions-quota"
	None         Class = "none"
	Unknown      Class = "unknown"
)

// Classes lists the thirteen failure classes in the order of the documents.
var Classes = []Class{
	NaNInf, OOM, Divergence, CUDA, NCCL, DataPipeline, Config, IOCheckpoint,
	Stalled, Crash, EvalMismatch, Pipeline, CloudQuota,
}

// RunStatus is how the run ended or stands.
type RunStatus string

// The run states; see the contract for what each means.
const (
	Crashed   RunStatus = "crashed"
	Hung      RunStatus = "hung"
	Diverged  RunStatus = "diverged"
	Degraded  RunStatus = "degraded"
	Recovered RunStatus = "recovered"
	Healthy   RunStatus = "healthy"
	Running   RunStatus = "running"
)

// Severity of a finding or anomaly.
type Severity string

// The severities; blocker is written "Critical" in text.
const (
	Blocker Severity = "blocker"
	High    Severity = "high"
	Medium  Severity = "medium"
	Low     Severity = "low"
)

// Risk of an action, by the fix policy.
type Risk string

// The risk levels.
const (
	Safe          Risk = "safe"
	NeedsApproval Risk = "needs-approval"
	Dangerous     Risk = "dangerous"
)

// Decision is GO, NO-GO or CONDITIONAL.
type Decision string

// The decisions.
const (
	Go          Decision = "GO"
	NoGo        Decision = "NO-GO"
	Conditional Decision = "CONDITIONAL"
)

// Confidence in words.
type Confidence string

// The confidence levels: high from 0.8, medium from 0.5.
const (
	ConfidenceHigh   Confidence = "high"
	ConfidenceMedium Confidence = "medium"
	ConfidenceLow    Confidence = "low"
)

// InWords turns a confidence of 0..1 into its word.
func InWords(c float64) Confidence {
	switch {
	case c >= 0.8:
		return ConfidenceHigh
	case c >= 0.5:
		return ConfidenceMedium
	}
	return ConfidenceLow
}

// Role of a line of evidence.
type Role string

// The roles of evidence; signatures also know benign.
const (
	RoleCause   Role = "cause"
	RoleSymptom Role = "symptom"
	RoleContext Role = "context"
	RoleBenign  Role = "benign"
)
