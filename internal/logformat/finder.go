package logformat

import "sync"

// Forms are the forms learned so far; the readers of many ranks share them. One
// goroutine learns; Finders of others may look in between.
type Forms struct {
	mu      sync.RWMutex
	byHead  map[uint64][]*form
	n       int
	turn    int
	learned []*form            // not filed yet
	young   map[uint64][]*form // the same by their heads
	fresh   map[uint32]bool    // their skeletons
	seen    [seenSize]uint32   // what may be learned when it comes again
}

// NewForms returns Forms that know nothing.
func NewForms() *Forms {
	return &Forms{byHead: map[uint64][]*form{}, fresh: map[uint32]bool{}, young: map[uint64][]*form{}}
}

// File makes what was learned known to the Finders; it waits for those that look.
func (fs *Forms) File() {
	if len(fs.learned) == 0 {
		return
	}
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.learned {
		fs.keep(f)
	}
	fs.learned = fs.learned[:0]
	clear(fs.fresh)
	clear(fs.young)
}

// Finder finds the forms of lines. It belongs to one goroutine.
type Finder struct {
	fs     *Forms
	own    bool // it is of the goroutine that learns: it sees what is not filed yet
	last   *form
	next   [nextSize]*form // what came after a form last time, by its number
	starts [maxSegs + 1]int32
}

// NewFinder returns a Finder of fs.
func NewFinder(fs *Forms) *Finder { return &Finder{fs: fs} }

// Late returns a Finder for the goroutine that learns. It needs no Begin and End.
func (fs *Forms) Late() *Finder { return &Finder{fs: fs, own: true} }

// Begin must be called before Find and End after it; what is learned meanwhile
// waits for End.
func (x *Finder) Begin() { x.fs.mu.RLock() }

// End ends what Begin began.
func (x *Finder) End() { x.fs.mu.RUnlock() }

// Find is the form of a line after the launcher's prefix was cut, nil when none
// is known. The line's numbers are appended to nums.
func (x *Finder) Find(b []byte, nums []float64) (*Form, []float64) {
	f := x.find(b)
	if f == nil {
		return nil, nums
	}
	return f, f.parse(b, &x.starts, nums)
}

func (x *Finder) find(b []byte) *form {
	if len(b) < 16 || len(b) > maxFormLine {
		return nil
	}
	if x.last != nil {
		if f := x.next[x.last.id%nextSize]; f != nil && f.match(b, &x.starts) {
			x.last = f
			return f
		}
	}
	h := head(b)
	f := first(x.fs.byHead[h], b, &x.starts)
	if x.own && f == nil {
		f = first(x.fs.young[h], b, &x.starts)
	}
	if f == nil {
		return nil
	}
	if x.last != nil {
		x.next[x.last.id%nextSize] = f
	}
	x.last = f
	return f
}

func first(shelf []*form, b []byte, starts *[maxSegs + 1]int32) *form {
	for _, f := range shelf {
		if f.match(b, starts) {
			return f
		}
	}
	return nil
}

// parse appends the numbers that reading the line again takes.
func (f *form) parse(b []byte, starts *[maxSegs + 1]int32, nums []float64) []float64 {
	from := func(p place) []byte { return b[starts[p.seg]+p.off:] }
	switch {
	case f.bar != nil:
		n, _ := integer(from(f.bar.numbers[0]))
		total, _ := integer(from(f.bar.numbers[1]))
		rate, _ := number(from(f.bar.numbers[3]))
		nums = append(nums, float64(n), float64(total), seconds(from(f.bar.numbers[2])), rate)
		for _, x := range f.bar.values {
			v, _ := number(from(x.at))
			nums = append(nums, v)
		}
	case f.keras != nil:
		n, _ := integer(from(f.keras.numbers[0]))
		total := int64(-1)
		if f.keras.total {
			total, _ = integer(from(f.keras.numbers[1]))
		}
		nums = append(nums, float64(n), float64(total))
		for _, x := range f.keras.values {
			v, _ := number(from(x.at))
			nums = append(nums, v)
		}
	default:
		for i := range f.places {
			pl := &f.places[i]
			v, _ := number(from(pl.val))
			if pl.times != 1 {
				v *= pl.times
			}
			of := -1.0
			if pl.of.seg >= 0 {
				of, _ = number(from(pl.of))
			}
			nums = append(nums, v, of)
		}
	}
	return nums
}
