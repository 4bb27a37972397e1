package logformat

import (
	"bytes"
	"slices"
)

// lesson is what the general reader found of the line at hand.
type lesson struct {
	given  bool
	bar    *barForm
	keras  *kerasForm
	drawn  drawn
	dict   bool // it is the Trainer's: only step, epoch and global of counts are set
	counts counts
	phase  Phase
	evals  bool
}

// Anew reads a line the long way and may learn its form. Known is the form that
// it has but that did not do, nil for none.
func (r *Reader) Anew(text []byte, m Marks, fs *Forms, known *Form) (Reading, bool) {
	if r.Silent(m) {
		return Reading{}, false
	}
	table := len(r.cols.names) > 0
	headed := r.head.epoch >= 0
	r.lesson.given = false
	v, ok := r.Marked(text, m)
	if !table && (!ok || r.lesson.given) && (known == nil || known.again < maxAgain) {
		r.learn(fs, text, m, headed, !ok)
	}
	return v, ok
}

// learn keeps the form of a line that was just read, once it has come twice.
func (r *Reader) learn(fs *Forms, text []byte, m Marks, headed, silent bool) {
	if len(text) < 16 || len(text) > maxFormLine || r.depth > 0 || peculiar(text) {
		return
	}
	if silent && affects(line{text, m}) || !silent && r.lesson.dict && (text[0] != '{' || contains(text, "'train_runtime'") || anyTimeMember(text)) {
		return
	}
	l := fs.lesson(text)
	ps, free, d := r.pairs(text), wordsFree, drawn{}
	if !silent {
		free, d = numbersFree, r.lesson.drawn
	}
	drawsBar := !silent && (r.lesson.bar != nil || r.lesson.keras != nil)
	r.wants(l, ps, drawsBar)
	l.draw(d, free)
	if !drawsBar && free == wordsFree && l.changesNames(ps) {
		l.draw(d, numbersFree)
	}
	if len(ps) == maxPairs || !drawsBar && l.changesNames(ps) || !l.comesAgain() {
		return
	}
	f := l.form(line{bytes.Clone(text), m})
	if f == nil {
		return
	}
	f.silent = silent
	switch {
	case drawsBar:
		if !f.draws(r, l) {
			return
		}
	case !f.reads(r, l, headed):
		return
	}
	l.keep(f)
}

// wants lists where the line's numbers are read from.
func (r *Reader) wants(l *draft, ps []pair, drawsBar bool) {
	l.wanted = l.wanted[:0]
	if !drawsBar {
		for i := range ps {
			l.want(ps[i].at)
			if ps[i].of >= 0 {
				l.want(ofAt(l.text, &ps[i]))
			}
		}
		return
	}
	c := &r.lesson.counts
	for _, at := range c.at {
		if at > 0 || r.lesson.keras != nil {
			l.want(at)
		}
	}
	for _, at := range r.sources[:c.values] {
		l.want(at)
	}
	slices.Sort(l.wanted)
}

// ofAt is where the M of the pair's "N/M" begins.
func ofAt(b []byte, p *pair) int {
	o := p.end
	for o > p.at && b[o-1] != '/' && b[o-1] != ' ' {
		o--
	}
	return o
}

// reads completes the form of a line that the general reader or the reader of
// dicts read, or that says nothing.
func (f *form) reads(r *Reader, l *draft, headed bool) bool {
	b := f.line.b
	old := r.pairBuf
	r.pairBuf = nil
	ps, end := r.pairsFrom(b, 0)
	r.pairBuf = old
	if end < len(b) {
		return false
	}
	f.pairs = ps
	for i := range ps {
		pl, ok := l.placeOf(&ps[i])
		if !ok {
			return false
		}
		f.places = append(f.places, pl)
	}
	if len(ps) > 0 && len(ps[0].key) == 0 && ps[0].box != '[' && ps[0].of >= 0 && len(skipSpace(b[:ps[0].at])) == 0 {
		f.headed = unheaded
		if headed {
			f.headed = underHead
		}
	}
	f.conditions(r, l)
	if f.silent && !f.states(r, l) || !f.silent && !f.tells(r, l) {
		return false
	}
	return l.number(f)
}

// states keeps what a silent line may state of the plan; false when that cannot be told.
func (f *form) states(r *Reader, l *draft) bool {
	if f.line.has&mDigit == 0 || f.line.has&(mWord|mCount|mEpoch) == 0 {
		return true
	}
	for i := range f.pairs {
		p := &f.pairs[i]
		if op := r.planOf(f.line.b, p); op != (planOp{}) && !p.unit {
			if l.inStamp(p) {
				return false
			}
			l.use(f.places[i])
			f.plans = append(f.plans, planned{op, i})
		}
	}
	return true
}

// planned is what a pair of a silent line states.
type planned struct {
	planOp
	pair int
}

// tells keeps where the reading's position and values come from.
func (f *form) tells(r *Reader, l *draft) bool {
	c := r.lesson.counts
	if len(r.out.Values) != c.values {
		return false // a placeholder was dropped
	}
	f.dict, f.counts, f.phase, f.evals = r.lesson.dict, c, r.lesson.phase, r.lesson.evals
	for _, i := range [...]int{c.step, c.batch, c.epoch, c.told} {
		if i >= 0 && l.inStamp(&f.pairs[i]) {
			return false
		}
		if i >= 0 && !slices.Contains(f.told, i) {
			l.use(f.places[i])
			f.told = append(f.told, i)
		}
	}
	if c.told >= 0 && !c.beside {
		l.given(f, f.places[c.told], positive, f.pairs[c.told].val)
	}
	for i, v := range r.values[:c.values] {
		pl := f.places[r.sources[i]]
		if l.inStamp(&f.pairs[r.sources[i]]) {
			return false
		}
		l.use(pl)
		f.values = append(f.values, formValue{v.Name, pl.val, pl.times, v.Value})
	}
	for i := range families {
		if !f.dict && families[i].wrote(f.line.b) {
			f.kin |= 1 << i
		}
	}
	f.timed.part = -1
	f.json = has(skipSpace(f.line.b), "{")
	return !f.json || l.timeOf(f)
}

// conditions keeps what must hold of the pairs' numbers: only what may be a
// counter is counted, and only a learning rate can be too large.
func (f *form) conditions(r *Reader, l *draft) {
	b := f.line.b
	for i := range f.pairs {
		p, pl := &f.pairs[i], f.places[i]
		k := r.known(p.key)
		counts := len(p.key) == 0 || r.roleOf(b, p) != notCounter || len(p.key) == 5 && hasFold(p.key, "train") || k.role != notCounter
		if !f.silent && r.lesson.dict && k.role == countsEpochs {
			counts = false // a fraction of epochs
		}
		if counts && !p.unit && (!p.int || p.val < 0) {
			l.given(f, pl, countable, p.val)
		}
		if k.name == "lr" {
			l.given(f, pl, large, p.val)
		}
		l.given(f, pairPlace{val: pl.of, of: -1, times: 1}, positive, p.of)
	}
}

// peculiar reports whether the reading of the line may hang on more than its
// form and numbers.
func peculiar(b []byte) bool {
	for _, s := range [...]string{"%)", "% [", "•", "epoch started", " reached", "***** Running ", "***** train metrics", "Test score #", "]\t", ":\t"} {
		if contains(b, s) {
			return true
		}
	}
	s := skipSpace(b)
	if has(s, "all ") || has(s, "|") || has(s, mllogMark) || has(s, vowpalHead) {
		return true
	}
	_, ok := message(b)
	return ok
}

func anyTimeMember(b []byte) bool {
	for _, k := range timeKeys {
		if contains(b, k) {
			return true
		}
	}
	return false
}

// affects reports whether a line without a reading may tell the reader
// something beside, other than a plan.
func affects(l line) bool {
	if l.has&mEpoch != 0 || l.has&(mCount|mHash) != 0 && l.has&mMetric != 0 && l.has&(mEq|mBrace|mColon) == 0 {
		return true
	}
	return l.has&mResume != 0 && anyFold(l.b, restartWords[:]) || l.has&mEnd != 0 && anyFold(l.b, endWords[:])
}

func anyFold(b []byte, words []string) bool {
	for _, w := range words {
		if containsFold(b, w) {
			return true
		}
	}
	return false
}
