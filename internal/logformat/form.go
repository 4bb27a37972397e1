package logformat

import (
	"encoding/binary"
	"sync/atomic"
	"time"
)

// A form is the shape of lines that were read before: literals, and between them
// fields: numbers, and what bars are drawn with. Of two lines of one form
// everything that does not hang on the numbers' values is the same; what does is
// kept as conditions (see cond), and a line that does not meet them is of another
// form. One pass over a line tells whether it is of a form and reads its numbers.
type form struct {
	id       int
	again    int         // how often it was learned anew
	stale    atomic.Bool // it was, since
	head     uint32
	skeleton uint32
	parts    []part
	words    []word // of the literals
	conds    []cond
	longest  int
	used     int // how many numbers it has
	clock    clockPlace
	quiet    bool // its level is INFO, WARNING or DEBUG
	frame    bool // it may be a frame of a traceback

	line   line        // the line that the form was learned from
	mute   bool        // its marks say that it says nothing
	silent bool        // the line says nothing
	pairs  []pair      // of that line, with the numbers of the line at hand
	places []pairPlace // where the numbers of the pairs are
	told   []int       // the pairs whose numbers the position hangs on
	plans  []planned   // what a silent line may state of the plan
	headed headedness
	counts counts      // its counters
	values []formValue // and values
	phase  Phase       // of the line
	evals  bool        // it speaks of an evaluation
	kin    uint64      // the families that wrote it
	dict   bool        // a dict of the Trainer's
	bar    *barForm    // a progress bar's
	keras  *kerasForm
	json   bool  // begins with a brace: its time is a member
	timed  place // of that time; part is -1 when there is none
}

// Form is the shape of a line that was read before.
type Form = form

// Inert reports whether a line of the form changes nothing in a reader that is
// not in a table.
func (f *form) Inert() bool { return f.silent && len(f.plans) == 0 && f.headed == headsAlike }

// Quiet reports whether the lines' level is INFO, WARNING or DEBUG.
func (f *form) Quiet() bool { return f.quiet }

// Frame reports whether the line may be a frame of a traceback.
func (f *form) Frame() bool { return f.frame }

// headedness is what of an announced epoch the form hangs on.
type headedness uint8

const (
	headsAlike headedness = iota // nothing
	unheaded                     // none was announced
	underHead                    // one was
)

// part is a literal and the field behind it; the last part has no field.
type part struct {
	n int32 // bytes of the literal
	word
	w0, w1 int32 // its other words
	field
}

// word is eight bytes of a literal; a shorter literal has one whose rest is not kept.
type word struct {
	off              int32
	pat, keep, digit uint64 // digit has 0xff where any digit may stand
}

// differs reports whether the eight bytes are others.
func (w *word) differs(v uint64) bool {
	return v&w.keep != w.pat || w.digit != 0 && w.digit&^digitBytes(v) != 0
}

// place is a byte of the line: off behind the beginning of a part's literal.
type place struct{ part, off int32 }

type pairPlace struct {
	val, of int // among the line's numbers; -1: always as in the form's line
	times   float64
}

type formValue struct {
	name  string
	slot  int // among the line's numbers; -1: always val
	times float64
	val   float64
}

// cond is what must hold of a number beside its shape.
type cond struct {
	slot  int
	times float64
	what  pairState
	want  bool
}

func (c *cond) holds(nums []float64) bool {
	return (stateOf(nums[c.slot]*c.times)&c.what != 0) == c.want
}

// pairState is what the interpretation of a pair hangs on beside its words.
type pairState uint8

const (
	countable pairState = 1 << iota // it may be a counter
	positive
	large // too large for a learning rate
)

func stateOf(v float64) pairState {
	var s pairState
	if !(v < 0) && v == float64(int64(v)) && !(v > 1e15) {
		s |= countable
	}
	if v > 0 {
		s |= positive
	}
	if v > 1e3 {
		s |= large
	}
	return s
}

// clockPlace is where the lines have the program's own time.
type clockPlace struct {
	kind     clockKind
	at       int           // where the date begins
	fraction int           // digits of the second's fraction
	zone     time.Duration // east of UTC
}

type clockKind uint8

const (
	noClock    clockKind = iota // the lines have no time, whatever their digits
	fixedClock                  // a date and a time of day at a fixed place
	readClock                   // the line has to be looked at
)

const (
	maxFormLine = 590 // below the lengths from which the reader looks at lines otherwise
	maxForms    = 4096
	maxBucket   = 24
	maxParts    = 48
	maxFraction = 24
	seenSize    = 1 << 13
	maxAgain    = 8
)

// match reports whether the line is of the form, and appends its numbers. What
// stands behind b up to its capacity may be read, and is not heeded.
func (f *form) match(b []byte, starts *[maxParts]int32, nums []float64) ([]float64, bool) {
	at, wide := 0, b[:cap(b)]
	for i := range f.parts {
		p := &f.parts[i]
		starts[i] = int32(at)
		if p.differs(eight(wide, at)) || p.w0 < p.w1 && !f.same(wide, at, p) {
			return nums, false
		}
		if at += int(p.n); at > len(b) {
			return nums, false
		}
		if p.kind == noField {
			continue
		}
		v, next := 0.0, 0
		if p.kind == numberField && !p.padded {
			v, next = p.number(b, at)
		} else {
			v, next = p.read(b, at)
		}
		if next < 0 {
			return nums, false
		}
		if at = next; p.used {
			nums = append(nums, v)
		}
	}
	return nums, at == len(b)
}

// same compares the rest of the part's literal with what stands at.
func (f *form) same(wide []byte, at int, p *part) bool {
	words := f.words[p.w0:p.w1]
	for i := range words {
		if words[i].differs(eight(wide, at+int(words[i].off))) {
			return false
		}
	}
	return true
}

// eight loads the eight bytes at, fewer at the end of b.
func eight(b []byte, at int) uint64 {
	if at+8 <= len(b) {
		return binary.LittleEndian.Uint64(b[at:])
	}
	return fewer(b, at)
}

func fewer(b []byte, at int) uint64 {
	var short [8]byte
	if at < len(b) {
		copy(short[:], b[at:])
	}
	return binary.LittleEndian.Uint64(short[:])
}

// addLiteral appends the words of a literal; digit tells which of its bytes may
// be any digit.
func (f *form) addLiteral(b []byte, digit []bool) part {
	p := part{n: int32(len(b)), w0: int32(len(f.words))}
	for i := 0; 8*i < len(b); i++ {
		off := max(0, min(8*i, len(b)-8))
		w := word{off: int32(off)}
		for k := 0; k < 8 && off+k < len(b); k++ {
			if digit[off+k] {
				w.digit |= 0xff << (8 * k)
			} else {
				w.keep |= 0xff << (8 * k)
				w.pat |= uint64(b[off+k]) << (8 * k)
			}
		}
		if i == 0 {
			p.word = w
		} else {
			f.words = append(f.words, w)
		}
	}
	p.w1 = int32(len(f.words))
	return p
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
