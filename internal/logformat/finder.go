package logformat

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Forms are the forms learned so far; the readers of many ranks share them. One
// goroutine learns; the Finders of others may look at the same time.
type Forms struct {
	shelves [1 << headBits]atomic.Pointer[[]*form] // by head; what a pointer shows does not change
	n       int
	turn    int
	learned []*form          // not filed yet
	fresh   map[uint32]bool  // their skeletons
	stiff   map[uint32]int   // how many forms of a skeleton have numbers of fixed width
	seen    [seenSize]uint32 // what may be learned when it comes again
	draft   draft
}

// NewForms returns Forms that know nothing.
func NewForms() *Forms { return &Forms{fresh: map[uint32]bool{}, stiff: map[uint32]int{}} }

// File makes what was learned known to the Finders of others. Until then only a
// Late one sees it: what a Finder knows does not depend on when it looks.
func (fs *Forms) File() {
	if len(fs.learned) == 0 {
		return
	}
	for _, f := range fs.learned {
		fs.keep(f)
	}
	fs.learned = fs.learned[:0]
	clear(fs.fresh)
}

// keep files the form; a full shelf loses one of its own.
func (fs *Forms) keep(f *form) {
	slot := &fs.shelves[f.head]
	var old []*form
	if p := slot.Load(); p != nil {
		old = *p
	}
	fs.turn++
	f.id = fs.turn
	shelf := slices.Clone(old)
	like := slices.IndexFunc(shelf, func(o *form) bool { return o.skeleton == f.skeleton && o.alike(f) })
	switch {
	case like >= 0: // it did not do: something else has changed
		f.again = shelf[like].again + 1
		shelf[like].stale.Store(true)
		shelf[like] = f
	case len(shelf) >= maxBucket:
		shelf[fs.turn%maxBucket] = f
	case fs.n < maxForms:
		fs.n++
		shelf = append(shelf, f)
	default:
		return
	}
	slot.Store(&shelf)
}

// alike reports whether the forms have the same conditions.
func (f *form) alike(o *form) bool { return slices.Equal(f.conds, o.conds) }

// Finder finds the forms of lines. It belongs to one goroutine.
type Finder struct {
	fs     *Forms
	own    bool             // it is of the goroutine that learns: it sees what is not filed yet
	last   *[lastSize]*form // by a key of the line
	starts [maxParts]int32
	day    day
	Stamp  Stamp // of the line that was found last
}

const lastSize = 1 << 12

// Stamp is a line's own time, and the time that a JSON line tells as a member.
type Stamp struct {
	Has  bool
	Sec  int64
	Nsec int32
}

// tables are those of Finders that were closed: each look of a watch has three.
var tables = sync.Pool{New: func() any { return new([lastSize]*form) }}

// NewFinder returns a Finder of fs.
func NewFinder(fs *Forms) *Finder { return &Finder{fs: fs, last: tables.Get().(*[lastSize]*form)} }

// Close lets go of what the Finder holds; it finds no more.
func (x *Finder) Close() {
	clear(x.last[:])
	tables.Put(x.last)
	x.last = nil
}

// Late returns a Finder for the goroutine that learns.
func (fs *Forms) Late() *Finder {
	x := NewFinder(fs)
	x.own = true
	return x
}

// Find is the form of a line after the launcher's prefix was cut, nil when none
// is known. The line need not be cleaned: one that has a form is clean. Its
// numbers are appended to nums, its own time is in Stamp. What stands behind b up
// to its capacity may be read.
func (x *Finder) Find(b []byte, nums []float64) (*Form, []float64) {
	if len(b) < 16 || len(b) > maxFormLine {
		return nil, nums
	}
	last := &x.last[key(b)%lastSize]
	if f := *last; f != nil {
		if out, ok := x.try(f, b, nums); ok {
			return f, out
		}
	}
	h := head(b)
	f, out := (*form)(nil), nums
	if shelf := x.fs.shelves[h].Load(); shelf != nil {
		f, out = x.first(*shelf, h, b, nums)
	}
	if x.own && f == nil {
		f, out = x.first(x.fs.learned, h, b, nums)
	}
	if f == nil {
		return nil, nums
	}
	*last = f
	return f, out
}

func (x *Finder) first(shelf []*form, head uint32, b []byte, nums []float64) (*form, []float64) {
	for _, f := range shelf {
		if f.head != head {
			continue
		}
		if out, ok := x.try(f, b, nums); ok {
			return f, out
		}
	}
	return nil, nums
}

// try reads the line as one of the form.
func (x *Finder) try(f *form, b []byte, nums []float64) ([]float64, bool) {
	if f.stale.Load() {
		return nums, false
	}
	n := len(nums)
	out, ok := f.match(b, &x.starts, nums)
	if !ok || len(b) > f.longest {
		return nums, false
	}
	for i := range f.conds {
		if !f.conds[i].holds(out[n:]) {
			return nums, false
		}
	}
	switch f.clock.kind {
	case noClock:
		x.Stamp.Has = false
	case fixedClock:
		if !x.readStamp(f, b) {
			return nums, false
		}
	case readClock:
		var p Prefix
		p.stamp(b)
		if quiet(p.Level) != f.quiet {
			return nums, false
		}
		x.Stamp.set(p.Time)
	}
	if f.timed.part >= 0 {
		t, k := parseTime(b[int(x.starts[f.timed.part]+f.timed.off):])
		if k == 0 {
			return nums, false
		}
		out = append(out, float64(t.Unix()), float64(t.Nanosecond()))
	}
	return out, true
}

func (s *Stamp) set(t time.Time) {
	if s.Has = !t.IsZero(); s.Has {
		s.Sec, s.Nsec = t.Unix(), int32(t.Nanosecond())
	}
}

// day is the date that was read last.
type day struct {
	text [10]byte
	sec  int64
}

// readStamp reads the time at its fixed place; false when it is none.
func (x *Finder) readStamp(f *form, b []byte) bool {
	c := &f.clock
	t := b[c.at : c.at+19+min(1, c.fraction)+c.fraction]
	if [10]byte(t) != x.day.text {
		y, m, d, n := date(t)
		if n == 0 {
			return false
		}
		x.day = day{[10]byte(t), time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC).Unix()}
	}
	two := func(i int) int { return int(t[i]-'0')*10 + int(t[i+1]-'0') }
	h, m, s := two(11), two(14), two(17)
	if h > 23 || m > 59 || s > 60 {
		return false
	}
	ns, unit := 0, int(1e8)
	for i := range c.fraction {
		ns += int(t[20+i]-'0') * unit
		unit /= 10
	}
	x.Stamp = Stamp{true, x.day.sec + int64(h*3600+m*60+s) - int64(c.zone/time.Second), int32(ns)}
	return true
}
