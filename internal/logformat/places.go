package logformat

import "slices"

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
