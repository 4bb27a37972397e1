package logformat

import (
	"bytes"
	"slices"
)

// draft is a form in the making. Until number gives the numbers of the line their
// order, places are indexes of fields.
type draft struct {
	sketch
	fs       *Forms
	text     []byte
	level    string
	clock    clockPlace
	from, to int // the stamp's digits
	wanted   []int
	hash     uint32
}

// lesson begins a draft of the form of a line.
func (fs *Forms) lesson(text []byte) *draft {
	l := &fs.draft
	l.fs, l.text = fs, text
	var p Prefix
	at, seen := p.stamp(text)
	l.level = p.Level
	l.clock, l.from, l.to = clockPlace{kind: readClock}, 0, 0
	near := seen <= stampReach-longer || len(text) <= stampReach-longer // it stays so in a longer line
	switch {
	case at >= 0 && near:
		l.fixed(at, seen)
	case at < 0 && near && !tellsClock(text[:seen]):
		l.clock.kind = noClock
	}
	return l
}

// longer is how much longer a line of a form may be than the one it was learned from.
const longer = 40

// fixed notes a time that begins at i, if it is a date and a time of day; seen is
// how far it was looked for.
func (l *draft) fixed(i, seen int) {
	b := l.text[i:]
	_, _, _, n := date(b)
	if n == 0 {
		return
	}
	_, _, _, _, k := clock(b[n+1:])
	n += 1 + k
	if tellsClock(b[n:max(n, seen-i)]) {
		return
	}
	off, _ := zone(b[n:])
	l.clock = clockPlace{kind: fixedClock, at: i, fraction: max(0, n-20), zone: off}
	l.from, l.to = i, i+n
}

// tellsClock reports whether b has what could be a time, with other digits: next
// to a colon they keep their width.
func tellsClock(b []byte) bool {
	for i := 2; i+4 < len(b); i++ {
		if b[i] == ':' && b[i+3] == ':' && isDigit(b[i-1]) && isDigit(b[i-2]) && isDigit(b[i+1]) && isDigit(b[i+2]) && isDigit(b[i+4]) {
			return true
		}
	}
	return tellsSeconds(b)
}

// tellsSeconds reports whether b has ten digits and more behind a point.
func tellsSeconds(b []byte) bool {
	n := 0
	for _, c := range b {
		switch {
		case isDigit(c):
			n++
			continue
		case c == '.' && n == 10:
			return true
		}
		n = 0
	}
	return n == 10
}

// want adds a place where a number is read from.
func (l *draft) want(at int) {
	if at < len(l.text) && (l.text[at] == '-' || l.text[at] == '+') {
		at++
	}
	l.wanted = append(l.wanted, at)
}

// draw finds the line's fields.
func (l *draft) draw(d drawn, free freedom) {
	d.fixedUntil = max(d.fixedUntil, l.from)
	l.sketch.draw(l.text, d, free, l.from, l.to, l.wanted)
}

// changesNames reports whether the name of a pair holds a digit that may change.
func (l *draft) changesNames(ps []pair) bool {
	for i := range ps {
		p := &ps[i]
		k := keyStart(l.text, p)
		if k < 0 {
			continue
		}
		from := k
		if w := phrase(l.text, p, 3); w != nil {
			from = k + len(p.key) - len(w)
		}
		if slices.Contains(l.part[from:k+len(p.key)], true) {
			return true
		}
	}
	return false
}

// comesAgain reports whether a line of this shape came before, and remembers it.
func (l *draft) comesAgain() bool {
	l.hash = l.skeleton(l.text)
	if s := &l.fs.seen[l.hash%seenSize]; *s != l.hash {
		*s = l.hash
		return false
	}
	return !l.fs.fresh[l.hash]
}

// form begins the form of a line, nil when it has too many fields.
func (l *draft) form(ln line) *form {
	if len(l.spans) >= maxParts {
		return nil
	}
	ln.b = slices.Clip(ln.b)
	f := &form{line: ln, skeleton: l.hash, head: head(ln.b), clock: l.clock, quiet: quiet(l.level)}
	f.longest = min(len(ln.b)+longer, maxFormLine)
	f.frame = ln.b[0] == ' ' && bytes.Contains(ln.b, []byte(`File "`))
	f.timed.part = -1
	return f
}

// parts makes the form's parts.
func (l *draft) parts(f *form) {
	at, b := 0, f.line.b
	for _, s := range l.spans {
		to := s.from
		if s.padded {
			for to > at && b[to-1] == ' ' {
				to--
			}
		}
		p := f.addLiteral(b[at:to], l.digit[at:to])
		p.field = s.field
		f.parts = append(f.parts, p)
		at = s.to
	}
	f.parts = append(f.parts, f.addLiteral(b[at:], l.digit[at:]))
}

// maxStiff is how many forms of one skeleton have numbers of fixed width.
const maxStiff = 6

// stiffen makes literals of the fields of a silent form whose values are not
// wanted: of fixed width, they are compared eight bytes at once. Where lines have
// many widths it lets the fields be.
func (l *draft) stiffen(f *form) {
	if !f.silent || l.fs.stiff[l.hash] >= maxStiff {
		return
	}
	kept := l.spans[:0]
	for _, s := range l.spans {
		if s.used || s.kind != numberField || s.exponent {
			kept = append(kept, s)
			continue
		}
		for i := s.from; i < s.to; i++ {
			l.digit[i] = isDigit(l.text[i])
		}
	}
	if len(kept) == len(l.spans) {
		return
	}
	l.spans = kept
	if len(l.fs.stiff) < maxForms {
		l.fs.stiff[l.hash]++
	}
	f.skeleton = l.skeleton(l.text)
}

func quiet(level string) bool { return level == "WARNING" || level == "INFO" || level == "DEBUG" }

// fieldAt is the field of the number at, or -1; fast is true when nothing of it
// may change.
func (l *draft) fieldAt(at int) (i int, fast bool) {
	if l.text[at] == '-' || l.text[at] == '+' {
		at++
	}
	for i := range l.spans {
		if l.spans[i].from == at {
			return i, false
		}
	}
	_, n := number(l.text[at:])
	return -1, !slices.Contains(l.part[at:at+n], true)
}

// placeOf is where the pair's numbers are.
func (l *draft) placeOf(p *pair) (pairPlace, bool) {
	pl := pairPlace{val: -1, of: -1, times: 1}
	if l.inStamp(p) {
		return pl, true
	}
	i, fast := l.fieldAt(p.at)
	if i < 0 && !fast {
		return pl, false
	}
	if pl.val = i; i >= 0 {
		if e := l.spans[i].to; p.unit && e < len(l.text) && isAlpha(l.text[e]) {
			if s := suffix(l.text[e:]); s > 0 {
				pl.times = s
			}
		}
		if v, _ := l.spans[i].value(l.text); v*pl.times != p.val && p.val == p.val {
			return pl, false // "20_000_000"
		}
	}
	if p.of < 0 {
		return pl, true
	}
	o := ofAt(l.text, p)
	if v, n := number(l.text[o:]); v != p.of || o+n != p.end {
		return pl, false
	}
	pl.of, fast = l.fieldAt(o)
	return pl, pl.of >= 0 || fast
}

// inStamp reports whether the pair is a fraction of the stamp's second: it may be
// anything, and MUST NOT be used.
func (l *draft) inStamp(p *pair) bool {
	return p.at >= l.from && p.at < l.to && len(p.key) == 0 && p.of < 0
}

// value is the number of the span's own line.
func (s *span) value(b []byte) (float64, int) {
	f := s.field
	f.padded, f.used = false, true
	return f.read(b[:s.to], s.from)
}

// use marks the fields of a place as wanted.
func (l *draft) use(pl pairPlace) {
	for _, i := range [...]int{pl.val, pl.of} {
		if i >= 0 {
			l.spans[i].used = true
		}
	}
}

// given makes it a condition of the form that the number at the place is, or is
// not, what it is in the form's own line.
func (l *draft) given(f *form, pl pairPlace, what pairState, v float64) {
	if pl.val < 0 {
		return
	}
	l.spans[pl.val].used = true
	f.conds = append(f.conds, cond{pl.val, pl.times, what, stateOf(v)&what != 0})
}

// number turns fields into places among the line's numbers. It is false when the
// form does not read its own line.
func (l *draft) number(f *form) bool {
	slots := make([]int, len(l.spans))
	for i := range l.spans {
		if slots[i] = -1; l.spans[i].used {
			slots[i] = f.used
			f.used++
		}
	}
	slot := func(i int) int {
		if i < 0 {
			return -1
		}
		return slots[i]
	}
	for i := range f.places {
		f.places[i].val, f.places[i].of = slot(f.places[i].val), slot(f.places[i].of)
	}
	for i := range f.values {
		f.values[i].slot = slot(f.values[i].slot)
	}
	for i := range f.conds {
		f.conds[i].slot = slot(f.conds[i].slot)
	}
	if f.bar != nil {
		for i := range f.bar.numbers {
			f.bar.numbers[i] = slot(f.bar.numbers[i])
		}
	}
	if f.keras != nil {
		for i := range f.keras.numbers {
			f.keras.numbers[i] = slot(f.keras.numbers[i])
		}
	}
	l.stiffen(f)
	l.parts(f)
	var x Finder
	_, ok := x.try(f, f.line.b, nil)
	return ok
}

// timeOf keeps where the entry tells its time; it is false where other digits
// would make another member tell it.
func (l *draft) timeOf(f *form) bool {
	b := f.line.b
	for _, k := range timeKeys {
		at := timeMember(b, k)
		if at < 0 {
			continue
		}
		if _, n := parseTime(b[at:]); n == 0 {
			j := at
			for j < len(b) && isDigit(b[j]) {
				j++
			}
			if j > at && j < len(b) && (b[j] == '-' || b[j] == '/' || b[j] == '.' && j-at >= 10) {
				return false
			}
			continue
		}
		from := 0
		for i, s := range l.spans {
			if at < s.from || at == s.from && !s.padded {
				f.timed = place{int32(i), int32(at - from)}
				return true
			}
			if at < s.to {
				return false
			}
			from = s.to
		}
		f.timed = place{int32(len(l.spans)), int32(at - from)}
		return true
	}
	return true
}

// keep files the form with the others.
func (l *draft) keep(f *form) {
	l.fs.fresh[l.hash] = true
	l.fs.learned = append(l.fs.learned, f)
}

// Mute learns the form of a line whose marks say that it says nothing.
func (fs *Forms) Mute(text []byte, m Marks) {
	if len(text) < 16 || len(text) > maxFormLine {
		return
	}
	l := fs.lesson(text)
	l.wanted = l.wanted[:0]
	l.draw(drawn{}, allFree)
	if !l.comesAgain() {
		return
	}
	f := l.form(line{bytes.Clone(text), m})
	if f == nil {
		return
	}
	f.mute, f.silent = true, true
	if l.number(f) {
		l.keep(f)
	}
}
