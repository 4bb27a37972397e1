package casefile

import (
	"bytes"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/scan"
)

// Sign is a compiled signature: what makes a line an event.
type Sign struct {
	ID       string
	Class    report.Class
	Says     string
	Role     report.Role
	Weight   float64
	Literals []string
	Regexp   *Pattern // nil: a literal is enough
	Frames   *Pattern
	NoFrames *Pattern
	Kinds    []string
	Cause    string
	YieldsTo []report.Class
	Sticky   bool
	Live     bool
	Each     bool // every line counts: it states a value
	Sets     map[string]string
}

// kept is how many events of one rank and stream are kept: the first ones and
// the newest.
func (s *Sign) kept() int {
	if s.Each {
		return 10 * perKey
	}
	return perKey
}

// Match reports whether a cleaned line is of this sign and what its named
// groups hold. Frames are checked elsewhere: a line does not have them.
func (s *Sign) Match(line []byte) (map[string]string, bool) {
	if !containsAny(line, s.Literals) {
		return nil, false
	}
	if s.Regexp == nil {
		return nil, true
	}
	re := s.Regexp.Regexp()
	m := re.FindSubmatch(line)
	if m == nil {
		return nil, false
	}
	var groups map[string]string
	for i, name := range re.SubexpNames() {
		if name == "" || m[i] == nil {
			continue
		}
		if groups == nil {
			groups = map[string]string{}
		}
		groups[name] = string(m[i])
	}
	return groups, true
}

// applies reports whether the sign is looked for in streams of a kind. Configs
// are facts, not logs: only a sign that names their kind reads them.
func (s *Sign) applies(kind string) bool {
	if len(s.Kinds) == 0 {
		return kind != KindConfig
	}
	return slices.Contains(s.Kinds, kind) || kind == "" && slices.Contains(s.Kinds, KindLog)
}

func containsAny(line []byte, literals []string) bool {
	for _, l := range literals {
		if containsFold(line, l) {
			return true
		}
	}
	return false
}

func containsFold(line []byte, l string) bool {
	if bytes.Contains(line, []byte(l)) {
		return true
	}
	lo, up := l[0]|0x20, l[0]&^0x20
	for i := 0; i+len(l) <= len(line); i++ {
		if (line[i] == lo || line[i] == up || line[i] == l[0]) && strings.EqualFold(string(line[i:i+len(l)]), l) {
			return true
		}
	}
	return false
}

// Matcher finds the signs of many lines in one pass.
type Matcher struct {
	signs    []*Sign
	scanner  *scan.Scanner
	trace    int // the pattern id that stands for the beginning of a traceback
	launcher int // and for a line of a launcher's report
	chain    int // and for a line between two tracebacks of a chain
}

// tracebackMark opens a Python traceback, in every version and with rich's frame.
const tracebackMark = "Traceback (most recent call last)"

// NewMatcher compiles the signs.
func NewMatcher(signs []*Sign) (*Matcher, error) {
	lits := make([][]string, 0, len(signs)+1)
	for _, s := range signs {
		lits = append(lits, s.Literals)
	}
	lits = append(lits, []string{tracebackMark}, launcherMarks, []string{duringMark, causeMark})
	sc, err := scan.Compile(lits)
	return &Matcher{signs: signs, scanner: sc, trace: len(signs), launcher: len(signs) + 1, chain: len(signs) + 2}, err
}
