package logformat

import (
	"encoding/binary"
	"math/bits"
)

// A form is the shape of lines that were read before: every byte but the digits
// of literal numbers, whose whole parts keep their width. Of two lines
// of one form everything that does not hang on the numbers' values is the same;
// what does is kept as conditions (see pairState), and a line that does not meet
// them is read the long way.
type form struct {
	id     int
	again  int // how often it was learned anew
	segs   []seg
	starts []int32     // where they begin in that line
	line   line        // the line that the form was learned from
	pairs  []pair      // of that line
	places []pairPlace // where the numbers of the pairs are
	cares  []pairState // the conditions that matter
	state  []pairState // what the interpretation hangs on
	headed bool        // an epoch's headline was open
	silent bool        // the line says nothing
	counts counts      // else these are its counters
	values []formValue // and values
	phase  Phase       // of the line
	evals  bool        // it speaks of an evaluation
	kin    uint64      // the families that wrote it
	dict   bool        // a dict of the Trainer's
	plans  bool        // a silent line that may state a plan
	bar    *barForm    // a progress bar's
	keras  *kerasForm
	json   bool // begins with a brace: its time is a member
	timed  bool // and it may have one
}

// seg is a stretch of fixed width; before all but the first one is a gap.
type seg struct {
	n         int
	gap       gap      // before it
	pat, mask []uint64 // mask is 0xff where a digit stands
}

type place struct{ seg, off int32 }

type pairPlace struct {
	val, of place // of.seg is -1 when there is none
	times   float64
}

type formValue struct {
	name string
	pair int
}

// pairState is what the interpretation of a pair hangs on beside its words.
type pairState uint8

const (
	countable pairState = 1 << iota // it may be a counter
	hasOf                           // "N/M" with M > 0
	large                           // too large for a learning rate
)

func (p *pair) state() pairState {
	var s pairState
	if !p.unit && !(p.val < 0) && p.val == float64(int64(p.val)) && !(p.val > 1e15) {
		s |= countable
	}
	if p.of > 0 {
		s |= hasOf
	}
	if p.val > 1e3 {
		s |= large
	}
	return s
}

const (
	maxFormLine = 590 // below the lengths from which the reader looks at lines otherwise
	maxForms    = 4096
	maxBucket   = 24
	maxSegs     = 24
	maxFraction = 24
	seenSize    = 1 << 13
	nextSize    = 1 << 12
	maxAgain    = 8
)

// Form is the shape of a line that was read before.
type Form = form

// head is a hash of some words of a line without their digits.
func head(b []byte) uint64 {
	h := uint64(0)
	for _, o := range [...]int{0, 8, 24, 40, 56, 72} {
		if o+8 > len(b) {
			break
		}
		h = (bits.RotateLeft64(h, 29) ^ foldDigits(binary.LittleEndian.Uint64(b[o:]))) * 0x9E3779B97F4A7C15
	}
	return h
}

const (
	eachByte = 0x0101010101010101
	highBits = 0x8080808080808080
)

// digitBytes has 0xff where w has a digit.
func digitBytes(w uint64) uint64 {
	x := w ^ 0x30*eachByte // digits are 0..9 now
	t := x&^highBits + 0x76*eachByte
	m := ^(t | x) & highBits // set where x < 10
	return m >> 7 * 0xff
}

func foldDigits(w uint64) uint64 {
	m := digitBytes(w)
	return w&^m | 0x30*eachByte&m
}

func (f *form) match(b []byte, starts *[maxSegs + 1]int32) bool {
	at := 0
	for i := range f.segs {
		s := &f.segs[i]
		if i > 0 {
			from := at
			for at < len(b) && s.gap.takes(b[at]) {
				at++
			}
			if at == from || at-from > maxFraction && s.gap == gapFraction {
				return false
			}
		}
		starts[i] = int32(at)
		if at+s.n > len(b) || !s.match(b[at:at+s.n]) {
			return false
		}
		at += s.n
	}
	return at == len(b)
}

func (s *seg) match(b []byte) bool {
	if len(b) < 8 {
		return s.short(b)
	}
	for i, pat := range s.pat {
		o := min(8*i, len(b)-8)
		w := binary.LittleEndian.Uint64(b[o:])
		m := s.mask[i]
		if w&^m != pat || m&^digitBytes(w) != 0 {
			return false
		}
	}
	return true
}

func (s *seg) short(b []byte) bool {
	if len(b) == 0 {
		return true
	}
	pat, m := s.pat[0], s.mask[0]
	for _, c := range b {
		if m&0xff != 0 {
			if !isDigit(c) {
				return false
			}
		} else if c != byte(pat) {
			return false
		}
		pat >>= 8
		m >>= 8
	}
	return true
}

func newSeg(b []byte, digit []bool) seg {
	s := seg{n: len(b)}
	for i := 0; i == 0 || 8*i < len(b); i++ {
		o := max(0, min(8*i, len(b)-8))
		var pat, mask uint64
		for k := 0; k < 8 && o+k < len(b); k++ {
			if digit[o+k] {
				mask |= 0xff << (8 * k)
			} else {
				pat |= uint64(b[o+k]) << (8 * k)
			}
		}
		s.pat, s.mask = append(s.pat, pat), append(s.mask, mask)
	}
	return s
}
