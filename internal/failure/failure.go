// Package failure is the book of failures: what a class of failure looks like
// (signatures, detectors), why it happens (causes) and what to do about it
// (fixes). A Book refuses a signature that does not match its own examples.
package failure

import (
	"errors"
	"fmt"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// Class is one class of failure.
type Class struct {
	ID         report.Class
	Doc        string // one paragraph for the taxonomy
	Severity   report.Severity
	Signatures []Signature
	Detectors  []Detector
	Causes     []Cause
	Fixes      []report.Fix   // when no cause applies
	YieldsTo   []report.Class // classes that explain this one away when both are seen unrecovered
	Usual      string         // why it is ruled out when nothing of it was seen
}

// Detector finds what no single line says: in series, in what is missing, in
// tracebacks that no signature knows. It is pure.
type Detector struct {
	Name string
	Doc  string
	Run  func(*casefile.File) []Sighting
}

// Sighting is one thing that a detector saw.
type Sighting struct {
	Type      report.AnomalyType
	Severity  report.Severity
	Role      report.Role
	Weight    float64 // 0..1, as for signatures
	Cause     string
	Rank      int // run.NoRank
	Step      int64
	Ref       run.Ref
	Text      string           // the line at Ref, or what was seen there
	Says      string           // one sentence with the figures
	Status    report.RunStatus // what it makes of the run: diverged, degraded, hung; "" leaves it open
	Recovered bool
	YieldsTo  []report.Class
	Also      []run.Ref // further lines
	Onset     int64     // the step at which it began, 0 when that is Step
}

// Cause is one reason for failures of its class. When may be nil: then only
// signatures and detectors that name the cause select it.
type Cause struct {
	Name string
	Root string // one to three sentences
	When func(*casefile.File) (strength float64, evidence []casefile.Evidence)
	// Detail adds a sentence to Root from the words that prove the cause (the names
	// and figures in them), "" when they tell nothing. It may be nil.
	Detail func(f *casefile.File, proof string) string
	Fixes  []report.Fix
}

// Book is all classes, validated and compiled.
type Book struct {
	Classes []*Class
	Signs   []*casefile.Sign
	Matcher *casefile.Matcher
	byID    map[report.Class]*Class
}

// NewBook compiles the classes and validates what they say of each other; it
// reports every mistake at once. A signature by itself was proved when it was
// packed (see Signature.Prove).
func NewBook(classes ...*Class) (*Book, error) {
	b := &Book{Classes: classes, byID: map[report.Class]*Class{}}
	var errs []error
	seen := map[string]bool{}
	for _, c := range classes {
		b.byID[c.ID] = c
		causes := map[string]bool{"": true}
		for _, k := range c.Causes {
			if k.Name == "" || k.Root == "" || causes[k.Name] {
				errs = append(errs, fmt.Errorf("%s: cause %q: a cause needs a unique name and a root", c.ID, k.Name))
			}
			causes[k.Name] = true
			errs = append(errs, checkFixes(string(c.ID)+"/"+k.Name, k.Fixes)...)
		}
		errs = append(errs, checkFixes(string(c.ID), c.Fixes)...)
		for i := range c.Signatures {
			s := &c.Signatures[i]
			if seen[s.ID] {
				errs = append(errs, fmt.Errorf("%s/%s: the id is taken", c.ID, s.ID))
			}
			if !causes[s.Cause] {
				errs = append(errs, fmt.Errorf("%s/%s: no cause %q in its class", c.ID, s.ID, s.Cause))
			}
			seen[s.ID] = true
			b.Signs = append(b.Signs, s.sign(c.ID))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	m, err := casefile.NewMatcher(b.Signs)
	b.Matcher = m
	return b, err
}

// Words are the literals of all signs of a cause or symptom, and the first line
// of Python's tracebacks: what to search for in a log that cannot be read whole.
func (b *Book) Words() []string {
	words := []string{"Traceback (most recent call last)"}
	for _, s := range b.Signs {
		if s.Role == report.RoleCause || s.Role == report.RoleSymptom {
			words = append(words, s.Literals...)
		}
	}
	return words
}

// Class returns the class of an id, or nil.
func (b *Book) Class(id report.Class) *Class { return b.byID[id] }

// Cause returns a cause of the class by name, or nil.
func (c *Class) Cause(name string) *Cause {
	for i := range c.Causes {
		if c.Causes[i].Name == name && name != "" {
			return &c.Causes[i]
		}
	}
	return nil
}

func checkFixes(where string, fixes []report.Fix) []error {
	var errs []error
	for _, f := range fixes {
		switch {
		case f.Action == "" || f.ExpectedImpact == "" || f.Validate == "":
			errs = append(errs, fmt.Errorf("%s: fix %q needs action, expected impact and validation criterion", where, f.Action))
		case f.Risk != report.Safe && f.Risk != report.NeedsApproval && f.Risk != report.Dangerous:
			errs = append(errs, fmt.Errorf("%s: fix %q: risk %q", where, f.Action, f.Risk))
		case f.TimeToTrySeconds <= 0 || f.Impact <= 0 || f.Impact > 1 || f.Confidence <= 0 || f.Confidence > 1:
			errs = append(errs, fmt.Errorf("%s: fix %q needs time to try, impact and confidence in 0..1", where, f.Action))
		}
	}
	return errs
}
