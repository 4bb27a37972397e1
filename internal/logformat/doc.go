// Package logformat turns the log lines of training runs into readings: values
// under canonical names, and progress in global steps by the contract's rule.
// It knows many programs' lines by their form and reads what it does not know
// with care: only literal numbers with a counter or a loss beside them count, so
// that source code and argument dumps inside a log give no readings.
package logformat

import "time"

// Phase is the part of a run that a line speaks of.
type Phase string

// The phases. Downloads, tokenisation and loading are PhaseOther.
const (
	PhaseTrain Phase = "train"
	PhaseEval  Phase = "eval"
	PhaseOther Phase = "other"
)

// Value is one number that a line reports.
type Value struct {
	Name  string // canonical, or as the log spells it
	Value float64
}

// Reading is what one line says. Step and Total are global, -1 when unknown;
// Epoch is -1 when unknown.
type Reading struct {
	Format      string
	Phase       Phase
	Values      []Value
	Progress    bool // the line reports training progress
	Step, Total int64
	Epoch       float64
	Time        time.Time
}

// Progress is how far the training of a stream has come.
type Progress struct {
	Step, Total   int64
	Epoch, Epochs float64 // -1 when unknown
	Time          time.Time
	Readings      int    // how many lines reported progress
	Completed     bool   // the log says, or its numbers do, that the last planned step is done
	Resumed       bool   // steps done before count
	RewoundTo     int64  // the step from which a restart went on after higher ones, or -1
	Format        string // of the lines that report training progress
}
