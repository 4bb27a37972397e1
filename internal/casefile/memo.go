package casefile

import (
	"regexp"

	"github.com/trainmedic/trainmedic/internal/logformat"
)

// memo remembers what regexps said. Lines of one kind come by the million and
// differ in their digits; a regexp says the same of all of them whose numbers
// have the same widths, but for the digits that it tells apart.
type memo struct {
	signs  map[*Sign]*signMemo
	frames map[frameKey]bool
	told   map[string]bool // lines that announce an exception, and that do not
	folded []byte
	apart  []byte // a line as a regexp folds it that tells digits apart
	order  int    // of the line of whose text folded is, 0 for another's
}

type signMemo struct {
	plain, numbered []string       // the literals without a digit, and with one
	wide            *regexp.Regexp // the regexp with any digit for each that it tells apart
	digits          *[256]byte     // each byte, of digits that it does not tell apart the first; nil: it tells none apart
	verdicts        map[string]verdict
	near            map[string][]int // by lines folded with digits
}

// verdict is what is true of a line whatever its digits are.
type verdict struct {
	literal bool // a plain literal occurs
	loc     []int
	maybe   bool // with other digits loc may be right
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
	if m.order != order {
		m.fold(line)
		m.order = order
	}
	v, ok := k.verdicts[string(m.folded)]
	if !ok {
		v = k.verdict(s, line, m.folded)
		if len(k.verdicts) >= maxVerdicts {
			clear(k.verdicts)
		}
		k.verdicts[string(m.folded)] = v
	}
	if !v.literal && (v.loc == nil && !v.maybe || !containsAny(line, k.numbered)) {
		return nil, false
	}
	if v.maybe {
		v.loc = m.nearly(k, s, line)
	}
	return v.loc, v.loc != nil
}

func (k *signMemo) verdict(s *Sign, line, folded []byte) verdict {
	v := verdict{literal: containsAny(line, k.plain)}
	if k.digits == nil {
		v.loc = s.Regexp.Regexp().FindSubmatchIndex(line)
	} else {
		v.maybe = k.wide.Match(folded)
	}
	return v
}

// nearly is what the regexp says of a line whose digits it tells apart.
func (m *memo) nearly(k *signMemo, s *Sign, line []byte) []int {
	m.apart = m.apart[:0]
	for _, c := range line {
		m.apart = append(m.apart, k.digits[c])
	}
	loc, ok := k.near[string(m.apart)]
	if !ok {
		loc = s.Regexp.Regexp().FindSubmatchIndex(line)
		if len(k.near) >= maxVerdicts {
			clear(k.near)
		}
		k.near[string(m.apart)] = loc
	}
	return loc
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
