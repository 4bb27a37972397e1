package report

// Diagnosis is check-failed-run.json. Build it with NewDiagnosis, so that no
// list is null.
type Diagnosis struct {
	SchemaVersion   string     `json:"schema_version" jsonschema:"enum=1.0"`
	SkillName       string     `json:"skill_name" jsonschema:"enum=check-failed-run"`
	RunID           string     `json:"run_id"`
	Timestamp       string     `json:"timestamp" jsonschema:"format=date-time"`
	DurationSeconds float64    `json:"duration_seconds" jsonschema:"minimum=0"`
	Decision        Decision   `json:"decision" jsonschema:"enum=GO,enum=NO-GO,enum=CONDITIONAL"`
	Confidence      Confidence `json:"confidence" jsonschema:"enum=high,enum=medium,enum=low"`
	Summary         string     `json:"summary"`
	Findings        []Finding  `json:"findings"`
	NextCommands    []string   `json:"next_commands"`

	Verdict

	Target         string            `json:"target"`
	TargetType     string            `json:"target_type"`
	Fixes          []Fix             `json:"fixes"`
	FailureContext FailureContext    `json:"failure_context"`
	LastProgress   Progress          `json:"last_progress"`
	Metrics        map[string]Metric `json:"metrics"`
	Checkpoints    []Checkpoint      `json:"checkpoints"`
	BestCheckpoint *string           `json:"best_checkpoint" jsonschema:"nullable"`
	Pipeline       *PipelineState    `json:"pipeline" jsonschema:"nullable"`
	Cut            []Cut             `json:"cut"`

	// Seen is what detectors saw at a step, healed or not: for pictures.
	Seen []Anomaly `json:"-"`
}

// Verdict is what the judge decided: the part of a Diagnosis that
// classify_failure returns.
type Verdict struct {
	RunStatus           RunStatus         `json:"run_status" jsonschema:"enum=crashed,enum=hung,enum=diverged,enum=degraded,enum=recovered,enum=healthy,enum=running"`
	Framework           string            `json:"framework"`
	PrimaryCause        Class             `json:"primary_cause"`
	CauseConfidence     float64           `json:"primary_cause_confidence" jsonschema:"minimum=0,maximum=1"`
	ContributingFactors []string          `json:"contributing_factors"`
	Evidence            []string          `json:"evidence"`
	RootCause           string            `json:"root_cause"`
	ProximateCause      string            `json:"proximate_cause"`
	EvidenceRefs        []EvidenceRef     `json:"evidence_refs"`
	CauseChain          []ChainLink       `json:"cause_chain"`
	RuledOut            []RuledOut        `json:"ruled_out"`
	FailingRank         *int              `json:"failing_rank" jsonschema:"nullable"`
	ExitCode            *int              `json:"exit_code" jsonschema:"nullable"`
	Signal              *string           `json:"signal" jsonschema:"nullable"`
	MissingEvidence     []MissingEvidence `json:"missing_evidence"`
}

// Finding is one entry per top fix or anomaly, for consumers of the base schema.
type Finding struct {
	ID          string   `json:"id"`
	Severity    Severity `json:"severity" jsonschema:"enum=blocker,enum=high,enum=medium,enum=low"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Fix         string   `json:"fix"`
}

// Fix is one step of the recovery plan.
type Fix struct {
	ID               string  `json:"id" yaml:"id"`
	Action           string  `json:"action" yaml:"action"`
	Risk             Risk    `json:"risk" yaml:"risk" jsonschema:"enum=safe,enum=needs-approval,enum=dangerous"`
	ExpectedImpact   string  `json:"expected_impact" yaml:"expected_impact"`
	Validate         string  `json:"validate" yaml:"validate"`
	Command          *string `json:"command" yaml:"command" jsonschema:"nullable"`
	TimeToTrySeconds int     `json:"time_to_try_seconds" yaml:"time_to_try_seconds" jsonschema:"minimum=0"`
	Confidence       float64 `json:"confidence" yaml:"confidence" jsonschema:"minimum=0,maximum=1"`
	Reversible       bool    `json:"reversible" yaml:"reversible"`
	Operation        *string `json:"operation" yaml:"operation" jsonschema:"nullable"`

	// Impact is 0..1: how much of the problem is gone if it works. For ranking.
	Impact float64 `json:"-" yaml:"impact"`
	// LeavesCause says that the fix gets the run going but does not remove the cause.
	LeavesCause bool `json:"-" yaml:"leaves_cause"`
}

// EvidenceRef is one line of evidence that can be looked up.
type EvidenceRef struct {
	File       string `json:"file"`
	Line       int    `json:"line" jsonschema:"minimum=0"`
	ByteOffset int64  `json:"byte_offset" jsonschema:"minimum=0"`
	Rank       *int   `json:"rank" jsonschema:"nullable"`
	Step       *int64 `json:"step" jsonschema:"nullable"`
	Role       Role   `json:"role" jsonschema:"enum=cause,enum=symptom,enum=context"`
	Text       string `json:"text"`
}

// ChainLink is one link from the root to the last symptom; Ref indexes evidence_refs.
type ChainLink struct {
	Class string `json:"class"`
	Rank  *int   `json:"rank" jsonschema:"nullable"`
	What  string `json:"what"`
	Ref   *int   `json:"ref" jsonschema:"nullable"`
}

// RuledOut says why a class is not the primary cause.
type RuledOut struct {
	Class Class  `json:"class"`
	Why   string `json:"why"`
	Ref   *int   `json:"ref" jsonschema:"nullable"`
}

// FailureContext is the text around the proving line: 20 to 50 lines, redacted,
// progress bars collapsed.
type FailureContext struct {
	File      string   `json:"file"`
	FirstLine int      `json:"first_line" jsonschema:"minimum=0"`
	Lines     []string `json:"lines"`
}

// Progress is the last training step that the run reported as done.
type Progress struct {
	Step       *int64   `json:"step" jsonschema:"nullable"`
	TotalSteps *int64   `json:"total_steps" jsonschema:"nullable"`
	Epoch      *float64 `json:"epoch" jsonschema:"nullable"`
	At         *string  `json:"at" jsonschema:"nullable"`
}

// Metric summarizes one series.
type Metric struct {
	First              Number `json:"first"`
	Last               Number `json:"last"`
	Min                Number `json:"min"`
	Max                Number `json:"max"`
	Count              int    `json:"count" jsonschema:"minimum=0"`
	NonFiniteCount     int    `json:"nonfinite_count" jsonschema:"minimum=0"`
	FirstNonFiniteStep *int64 `json:"first_nonfinite_step" jsonschema:"nullable"`
}

// Checkpoint is one saved state and whether it is whole.
type Checkpoint struct {
	Path       string  `json:"path"`
	Step       *int64  `json:"step" jsonschema:"nullable"`
	Complete   *bool   `json:"complete" jsonschema:"nullable"`
	Why        string  `json:"why"`
	ModifiedAt *string `json:"modified_at" jsonschema:"nullable"`
}

// PipelineState summarizes an orchestrated run.
type PipelineState struct {
	Name              string         `json:"name"`
	State             string         `json:"state"`
	FailedTasks       []string       `json:"failed_tasks"`
	FirstFailedTask   *string        `json:"first_failed_task" jsonschema:"nullable"`
	LastSucceededTask *string        `json:"last_succeeded_task" jsonschema:"nullable"`
	Tasks             map[string]int `json:"tasks"`
}

// MissingEvidence is a gap: what could not be seen, why, and what to ask for.
type MissingEvidence struct {
	What string `json:"what"`
	Why  string `json:"why"`
	Ask  string `json:"ask"`
}

// Cut says what was shortened to stay within bounds, and where the whole is.
type Cut struct {
	Field string `json:"field"`
	Kept  int    `json:"kept"`
	Total int    `json:"total"`
	URI   string `json:"uri"`
}

// NewDiagnosis has every list and map empty, none nil.
func NewDiagnosis() *Diagnosis {
	return &Diagnosis{
		SchemaVersion: "1.0", SkillName: "check-failed-run",
		Findings: []Finding{}, NextCommands: []string{}, Verdict: NewVerdict(), Fixes: []Fix{},
		FailureContext: FailureContext{Lines: []string{}}, Metrics: map[string]Metric{},
		Checkpoints: []Checkpoint{}, Cut: []Cut{},
	}
}

// NewVerdict has every list empty, none nil.
func NewVerdict() Verdict {
	return Verdict{
		ContributingFactors: []string{}, Evidence: []string{}, EvidenceRefs: []EvidenceRef{},
		CauseChain: []ChainLink{}, RuledOut: []RuledOut{}, MissingEvidence: []MissingEvidence{},
	}
}
