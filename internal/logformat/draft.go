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
	case at < 0 && near && !tellsClock(text[:min(len(text), seen+8)]) && !has(text, mllogMark): // a clock may begin where the looking ended
		l.clock.kind = noClock
	}
	return l
}

// longer is how much longer a line of a form may be than the one it was learned from.
const longer = 40

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
