package casefile

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/trainmedic/trainmedic/internal/logformat"
)

// memo remembers what regexps said. Lines of one kind come by the million and
// differ in their digits; a regexp that treats all digits alike says the same
// of all of them whose numbers have the same widths.
type memo struct {
	signs  map[*Sign]*signMemo
	frames map[frameKey]bool
	told   map[string]bool // lines that announce an exception, and that do not
	folded []byte
	order  int // of the line of whose text folded is, 0 for another's
}

type signMemo struct {
	alike    bool     // the regexp treats all digits alike
	plain    []string // the literals without a digit
	verdicts map[string]verdict
}

type verdict struct {
	literal bool // a plain literal occurs
	loc     []int
}

type frameKey struct {
	re   *regexp.Regexp
	text string
}

const (
	maxVerdicts = 256
	maxMemoLine = 600
	maxFrameKey = 4096
)

func newMemo() *memo {
	return &memo{signs: map[*Sign]*signMemo{}, frames: map[frameKey]bool{}, told: map[string]bool{}}
}

// match is Sign.Match, with the places of the groups; order is the line's.
func (m *memo) match(s *Sign, line []byte, order int) ([]int, bool) {
	if s.Regexp == nil || len(line) > maxMemoLine {
		return s.find(line)
	}
	k := m.signs[s]
	if k == nil {
		k = newSignMemo(s)
		m.signs[s] = k
	}
	if !k.alike {
		return s.find(line)
	}
	if m.order != order {
		m.fold(line)
		m.order = order
	}
	v, ok := k.verdicts[string(m.folded)]
	if !ok {
		v = verdict{literal: containsAny(line, k.plain)}
		if v.literal {
			v.loc = s.Regexp.Regexp().FindSubmatchIndex(line)
		}
		if len(k.verdicts) >= maxVerdicts {
			clear(k.verdicts)
		}
		k.verdicts[string(m.folded)] = v
	}
	if !v.literal && len(k.plain) < len(s.Literals) {
		return s.find(line)
	}
	return v.loc, v.loc != nil
}

// fold leaves the line with all digits 0 in m.folded.
func (m *memo) fold(line []byte) {
	m.order = 0
	m.folded = logformat.Fold(m.folded[:0], line)
}

// announces reports whether the line says that an exception was expected.
func (m *memo) announces(line []byte) bool {
	if len(line) > maxMemoLine {
		return expected.Match(line)
	}
	m.fold(line) // the words hold no digit of their own
	v, ok := m.told[string(m.folded)]
	if !ok {
		if len(m.told) >= maxVerdicts {
			clear(m.told)
		}
		v = expected.Match(line)
		m.told[string(m.folded)] = v
	}
	return v
}

// find is where the sign's groups are in the line, if it is of this sign.
func (s *Sign) find(line []byte) ([]int, bool) {
	if !containsAny(line, s.Literals) {
		return nil, false
	}
	if s.Regexp == nil {
		return nil, true
	}
	loc := s.Regexp.Regexp().FindSubmatchIndex(line)
	return loc, loc != nil
}

func newSignMemo(s *Sign) *signMemo {
	k := &signMemo{verdicts: map[string]verdict{}}
	if re, err := syntax.Parse(s.Regexp.src, syntax.Perl); err == nil {
		k.alike = digitsAlike(re)
	}
	for _, l := range s.Literals {
		if !strings.ContainsAny(l, "0123456789") {
			k.plain = append(k.plain, l)
		}
	}
	return k
}

// digitsAlike reports whether no part of the regexp tells one digit from another.
func digitsAlike(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			if r >= '0' && r <= '9' {
				return false
			}
		}
	case syntax.OpCharClass:
		n := 0
		for i := 0; i < len(re.Rune); i += 2 {
			if lo, hi := max(re.Rune[i], '0'), min(re.Rune[i+1], '9'); lo <= hi {
				n += int(hi-lo) + 1
			}
		}
		if n != 0 && n != 10 {
			return false
		}
	}
	for _, sub := range re.Sub {
		if !digitsAlike(sub) {
			return false
		}
	}
	return true
}

// inFrames is Traceback.InFrames.
func (m *memo) inFrames(t *Traceback, re *regexp.Regexp) bool {
	for _, fr := range t.Frames {
		k := frameKey{re, fr.String()}
		hit, ok := m.frames[k]
		if !ok {
			hit = re.MatchString(k.text)
			if len(m.frames) >= maxFrameKey {
				clear(m.frames)
			}
			m.frames[k] = hit
		}
		if hit {
			return true
		}
	}
	return false
}
