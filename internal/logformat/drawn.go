package logformat

import (
	"bytes"
	"time"
)

// barForm is what a form keeps of a bar of tqdm: the bar with its words, what
// they say it counts, and where its numbers are.
type barForm struct {
	bar     bar
	says    barSays
	numbers [4]place // n, total, elapsed, rate
	values  []drawnValue
	rated   bool // its rate is a value
	perStep bool // "s/it"
}

type kerasForm struct {
	numbers [2]place // n, total
	total   bool     // it is a number, not "Unknown"
	samples bool     // it counts samples
	values  []drawnValue
}

type drawnValue struct {
	name string
	at   place
}

// draws completes the form of a bar from the lesson.
func (f *form) draws(r *Reader, digit []bool) bool {
	l := &r.lesson
	if numbered(f.line.b, digit) {
		return false
	}
	f.phase = l.phase
	values := make([]drawnValue, 0, l.counts.values)
	for i := range l.counts.values {
		v := drawnValue{r.drawnNames[i], f.place(r.sources[i])}
		if v.at.seg < 0 {
			return false
		}
		values = append(values, v)
	}
	if l.keras != nil {
		k := *l.keras
		for i := range k.numbers {
			if k.numbers[i] = f.place(l.counts.at[i]); k.numbers[i].seg < 0 && (i == 0 || k.total) {
				return false
			}
		}
		k.values = values
		f.keras = &k
		return true
	}
	k := *l.bar
	for i := range k.numbers {
		if k.numbers[i] = f.place(l.counts.at[i]); k.numbers[i].seg < 0 {
			return false
		}
	}
	k.values = values
	k.bar = k.bar.in(f.line.b)
	f.bar = &k
	return true
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
func (r *Reader) barAgain(f *form, nums []float64, b []byte, at time.Time, told bool) (v Reading, ok, done bool) {
	k := f.bar
	d := k.bar
	d.n, d.total, d.elapsed, d.rate = int64(nums[0]), int64(nums[1]), nums[2], nums[3]
	if !(d.rate > 0) {
		return Reading{}, false, false
	}
	rate := d.rate
	if k.perStep {
		d.rate = 1 / rate
	}
	r.out = Reading{Format: "tqdm", Step: -1, Total: -1, Epoch: -1}
	s := r.barOf(d)
	if r.out.Phase = r.barPhaseOf(k.says, d, s); r.out.Phase != f.phase {
		return Reading{}, false, false
	}
	if !r.redraw(k.values, nums[4:]) {
		return Reading{}, false, false
	}
	if k.rated {
		r.add("steps_per_second", d.rate)
	}
	r.out.Values = r.values
	r.barDone(d, s, &r.out)
	r.stampAgain(f, b, at, told)
	return r.out, true, true
}

// redraw reads the values; it is false when a learning rate is none.
func (r *Reader) redraw(values []drawnValue, nums []float64) bool {
	r.values = r.values[:0]
	for i, x := range values {
		v := nums[i]
		if v > 1e3 && x.name == "lr" {
			return false
		}
		r.values = append(r.values, Value{x.name, v})
	}
	return true
}

// kerasAgain reads a bar of Keras of a known form.
func (r *Reader) kerasAgain(f *form, nums []float64, b []byte, at time.Time, told bool) (v Reading, ok, done bool) {
	k := f.keras
	n, total := int64(nums[0]), int64(nums[1])
	r.out = Reading{Format: "keras", Step: -1, Total: -1, Epoch: -1}
	r.redraw(k.values, nums[2:])
	r.out.Values = r.values
	r.kerasBar(n, total, k.samples, &r.out)
	r.stampAgain(f, b, at, told)
	return r.out, true, true
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
		if !gapKeras.takes(c) {
			return drawn{}
		}
	}
	return drawn{kind: gapKeras, from: from, to: from + n - 1}
}
