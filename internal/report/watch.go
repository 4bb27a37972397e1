package report

import "time"

// WatchArtifact is the name of the file that holds a WatchReport.
const WatchArtifact = "babysit-training.json"

// TerminalState is how a watched run ended, or Running when the watch stopped
// before it did.
type TerminalState string

// The terminal states.
const (
	StateSucceeded    TerminalState = "SUCCEEDED"
	StateFailed       TerminalState = "FAILED"
	StateCancelled    TerminalState = "CANCELLED"
	StateTimeout      TerminalState = "TIMEOUT"
	StateEarlyStopped TerminalState = "EARLY_STOPPED"
	StateRunning      TerminalState = "RUNNING"
)

// Ended reports whether the run is over.
func (s TerminalState) Ended() bool { return s != "" && s != StateRunning }

// WatchReport is babysit-training.json. Build it with NewWatchReport, so that no
// list is null.
type WatchReport struct {
	SchemaVersion   string     `json:"schema_version" jsonschema:"enum=1.0"`
	SkillName       string     `json:"skill_name" jsonschema:"enum=babysit-training"`
	RunID           string     `json:"run_id"`
	Timestamp       string     `json:"timestamp" jsonschema:"format=date-time"`
	DurationSeconds float64    `json:"duration_seconds" jsonschema:"minimum=0"`
	Decision        Decision   `json:"decision" jsonschema:"enum=GO,enum=NO-GO,enum=CONDITIONAL"`
	Confidence      Confidence `json:"confidence" jsonschema:"enum=high,enum=medium,enum=low"`
	Summary         string     `json:"summary"`
	Findings        []Finding  `json:"findings"`
	NextCommands    []string   `json:"next_commands"`

	Target         string            `json:"target"`
	TargetType     string            `json:"target_type"`
	TerminalState  TerminalState     `json:"terminal_state" jsonschema:"enum=SUCCEEDED,enum=FAILED,enum=CANCELLED,enum=TIMEOUT,enum=EARLY_STOPPED,enum=RUNNING"`
	TotalSteps     int64             `json:"total_steps" jsonschema:"minimum=0"`
	PlannedSteps   *int64            `json:"planned_steps" jsonschema:"nullable"`
	FinalMetrics   map[string]Number `json:"final_metrics"`
	Anomalies      []Anomaly         `json:"anomalies_detected"`
	BestCheckpoint *string           `json:"best_checkpoint" jsonschema:"nullable"`
	StopReason     string            `json:"stop_reason"`
	Polls          int               `json:"polls" jsonschema:"minimum=0"`
	Cut            []Cut             `json:"cut"`
}

// NewWatchReport has every list and map empty, none nil.
func NewWatchReport() *WatchReport {
	return &WatchReport{
		SchemaVersion: "1.0", SkillName: "babysit-training", Decision: Go, Confidence: ConfidenceLow, TerminalState: StateRunning,
		Findings: []Finding{}, NextCommands: []string{}, FinalMetrics: map[string]Number{}, Anomalies: []Anomaly{}, Cut: []Cut{},
	}
}

// Anomaly is something wrong with a running run.
type Anomaly struct {
	Step        *int64       `json:"step" jsonschema:"nullable"`
	Type        AnomalyType  `json:"type"`
	Severity    Severity     `json:"severity" jsonschema:"enum=blocker,enum=high,enum=medium,enum=low"`
	Description string       `json:"description"`
	ActionTaken string       `json:"action_taken"`
	At          string       `json:"at" jsonschema:"format=date-time"`
	Ref         *EvidenceRef `json:"ref" jsonschema:"nullable"`
	ClosedAt    *string      `json:"closed_at" jsonschema:"nullable"`

	// Fix is the first step of the recovery plan, for the findings.
	Fix string `json:"-"`
	// Class is the failure class behind it, "" when there is none.
	Class Class `json:"-"`
	// Hold is how many further looks must see it before it is told: until then the
	// run may still recover. The end of the run confirms it.
	Hold int `json:"-"`
}

// Grave reports whether the anomaly decides about the run.
func (a *Anomaly) Grave() bool { return a.Severity == Blocker || a.Severity == High }

var weights = map[Severity]int{Blocker: 4, High: 3, Medium: 2, Low: 1}

// Above reports whether a severity is graver than another.
func (s Severity) Above(t Severity) bool { return weights[s] > weights[t] }

// EventKind is what an event of a watch tells.
type EventKind string

// The kinds of events.
const (
	EventOpened EventKind = "anomaly-opened"
	EventWorse  EventKind = "anomaly-worse"
	EventClosed EventKind = "anomaly-closed"
	EventState  EventKind = "state-changed"
	EventEnd    EventKind = "ended"

	// What came of an action.
	EventActed        EventKind = "action-taken"
	EventValidated    EventKind = "fix-validated"
	EventNotValidated EventKind = "fix-not-validated"
)

// Event is one thing worth telling of a watch.
type Event struct {
	Kind    EventKind `json:"kind" jsonschema:"enum=anomaly-opened,enum=anomaly-worse,enum=anomaly-closed,enum=state-changed,enum=ended,enum=action-taken,enum=fix-validated,enum=fix-not-validated"`
	At      string    `json:"at" jsonschema:"format=date-time"`
	Text    string    `json:"text"`
	Anomaly *Anomaly  `json:"anomaly,omitempty"`
}

// Urgent reports whether a person who sleeps wants to know.
func (e *Event) Urgent() bool {
	return e.Kind == EventEnd || e.Kind == EventNotValidated || e.Anomaly != nil && e.Anomaly.Grave()
}

// Update is what one look of a watch saw.
type Update struct {
	At      time.Time
	Poll    int
	State   TerminalState
	Status  string   // what the look saw in one line
	Lines   []string // the progress line or those of a job, and the line under it
	Events  []Event
	Reset   bool          // the interval went back to its start
	Next    time.Duration // until the next look, 0 at the end
	Summary []string      // of the watch so far, every few looks and when something notable happened
	Live    Live
	End     *WatchReport // at the end
}

// Live is what a live view draws.
type Live struct {
	Step, Total int64 // -1 when unknown
	Loss        []float64
	ETA         *Span
	Open        []Anomaly
}

// Span is a time with its likely bounds, in seconds.
type Span struct {
	Seconds float64 `json:"seconds"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

// Decide is the decision of a watch by the contract.
func (r *WatchReport) Decide() {
	grave := false
	for i := range r.Anomalies {
		grave = grave || r.Anomalies[i].ClosedAt == nil && r.Anomalies[i].Grave()
	}
	switch r.TerminalState {
	case StateSucceeded, StateEarlyStopped:
		r.Decision = Go
		if grave {
			r.Decision = Conditional
		}
	case StateRunning:
		r.Decision = Go
		if grave {
			r.Decision = NoGo
		}
	default:
		r.Decision = NoGo
	}
}

// Glimpse is what one watch shows to somebody who looks at all of them.
type Glimpse struct {
	ID, Target  string
	State       TerminalState
	Line        string // the status line
	Blind       string // why the first look saw nothing, "" if it saw something
	Resting     bool   // nobody looks at the run any more, though it goes on
	Started, At time.Time
	Live        Live     // of the last look; without a loss where another process looks
	Events      []Event  // the newest, in order
	Decision    Decision // at the end
	Reason      string   // why it ended
}
