package logformat

import (
	"bytes"
	"time"
)

// barForm is what a form keeps of a bar of tqdm: the bar with its words, what
// they say it counts, and which of the line's numbers are its own.
type barForm struct {
	bar     bar
	says    barSays
	numbers [4]int // n, total, elapsed, rate
	rated   bool   // its rate is a value
	perStep bool   // "s/it"
}

type kerasForm struct {
	numbers [2]int // n, total
	total   bool   // it is a number, not "Unknown"
	samples bool   // it counts samples
}

// draws completes the form of a bar from the lesson.
func (f *form) draws(r *Reader, l *draft) bool {
	s := &r.lesson
	if numbered(f.line.b, l.part) {
		return false
	}
	f.phase = s.phase
	for i := range s.counts.values {
		k, fast := l.fieldAt(r.sources[i])
		if k < 0 && !fast {
			return false
		}
		v := r.lessonValues[i]
		f.values = append(f.values, formValue{v.Name, k, 1, v.Value})
		if pl := (pairPlace{val: k, of: -1, times: 1}); k >= 0 {
			l.use(pl)
			if v.Name == "lr" {
				l.given(f, pl, large, v.Value)
			}
		}
	}
	numbers := func(to []int, known int) bool {
		for i := range to {
			if to[i] = -1; i >= known {
				continue
			}
			if to[i], _ = l.fieldAt(s.counts.at[i]); to[i] < 0 {
				return false
			}
			l.spans[to[i]].used = true
		}
		return true
	}
	if s.keras != nil {
		k := *s.keras
		f.keras = &k
		known := 2
		if !k.total {
			known = 1
		}
		return numbers(k.numbers[:], known) && l.number(f)
	}
	k := *s.bar
	k.bar = k.bar.in(f.line.b)
	f.bar = &k
	if !numbers(k.numbers[:], len(k.numbers)) {
		return false
	}
	l.given(f, pairPlace{val: k.numbers[3], of: -1, times: 1}, positive, 1)
	f.json = has(skipSpace(f.line.b), "{")
	return !f.json && l.number(f)
}

// numbered reports whether a digit that may change may be part of a name.
func numbered(b []byte, digit []bool) bool {
	for i := 2; i < len(b); i++ {
		if !digit[i] || digit[i-1] {
			continue
		}
		c := b[i-2]
		if c|0x20 == 'e' && i > 2 && digit[i-3] {
			continue // an exponent
		}
		if (b[i-1] == '-' || b[i-1] == '+' || b[i-1] == '/') && c != ' ' && c != '=' && c != ':' && !isDigit(c) {
			return true
		}
	}
	return bytes.IndexByte(b, '(') >= 0
}

// in is the same bar in a copy of its line.
func (d bar) in(b []byte) bar {
	move := func(s []byte) []byte {
		if s == nil {
			return nil
		}
		at := cap(b) - cap(s)
		return b[at : at+len(s)]
	}
	d.desc, d.post, d.unit, d.rest = move(d.desc), move(d.post), move(d.unit), move(d.rest)
	return d
}

// barAgain reads a bar of a known form.
func (r *Reader) barAgain(f *form, nums []float64, b []byte, at time.Time, told bool) (v *Reading, done bool) {
	k := f.bar
	d := &k.bar
	d.n, d.total, d.elapsed, d.rate = int64(nums[k.numbers[0]]), int64(nums[k.numbers[1]]), nums[k.numbers[2]], nums[k.numbers[3]]
	if k.perStep {
		d.rate = 1 / d.rate
	}
	r.out = Reading{Format: "tqdm", Step: -1, Total: -1, Epoch: -1}
	s := r.barOf(*d)
	if r.out.Phase = r.barPhaseOf(k.says, *d, s); r.out.Phase != f.phase {
		return nil, false
	}
	r.refill(f, nums)
	if k.rated {
		r.add("steps_per_second", d.rate)
	}
	r.out.Values = r.values
	r.barDone(*d, s, &r.out)
	r.stampAgain(f, nums, b, at, told)
	return &r.out, true
}

// kerasAgain reads a bar of Keras of a known form.
func (r *Reader) kerasAgain(f *form, nums []float64, b []byte, at time.Time, told bool) (v *Reading, done bool) {
	k := f.keras
	n, total := int64(nums[k.numbers[0]]), int64(-1)
	if k.total {
		total = int64(nums[k.numbers[1]])
	}
	r.out = Reading{Format: "keras", Step: -1, Total: -1, Epoch: -1}
	r.refill(f, nums)
	r.out.Values = r.values
	r.kerasBar(n, total, k.samples, &r.out)
	r.stampAgain(f, nums, b, at, told)
	return &r.out, true
}

// kerasDrawn is where a Keras bar is drawn, in the line.
func kerasDrawn(b, rest []byte) drawn {
	if len(rest) == 0 || rest[0] != '[' {
		return drawn{}
	}
	from := cap(b) - cap(rest) + 1
	n := bytes.IndexByte(rest, ']')
	if n < 3 {
		return drawn{}
	}
	for _, c := range rest[1:n] {
		if !kerasField.drawn(c) {
			return drawn{}
		}
	}
	return drawn{kind: kerasField, from: from, to: from + n - 1}
}
