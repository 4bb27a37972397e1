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
	headed := r.head.epoch >= 0
	table := len(r.cols.names) > 0
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
	var d drawn
	if !silent {
		d = r.lesson.drawn
	}
	digit, free := shape(text, d)
	h := skeleton(text, digit, free)
	if s := &fs.seen[h%seenSize]; *s != h {
		*s = h
		return
	}
	if fs.fresh[h] {
		return
	}
	b := bytes.Clone(text)
	b = slices.Clip(b)
	f := &form{line: line{b, m}, headed: headed, silent: silent, json: bytes.HasPrefix(skipSpace(b), []byte("{"))}
	f.timed = f.json && timeMember(b)
	if f.timed && r.lesson.dict || silent && affects(f.line) || !silent && r.lesson.dict && (!f.json || contains(b, "'train_runtime'")) {
		return
	}
	f.plans = silent && m&mDigit != 0 && m&(mWord|mCount|mEpoch) != 0
	if !f.cut(b, digit, free) {
		return
	}
	if !silent && (r.lesson.bar != nil || r.lesson.keras != nil) {
		if f.draws(r, digit) {
			fs.learn(h, f)
		}
		return
	}
	if ps, ok := r.pairsAnew(b); !ok || !f.name(r, ps, digit) {
		return
	}
	if !silent {
		if len(r.out.Values) != r.lesson.counts.values {
			return // a placeholder was dropped
		}
		f.dict, f.counts, f.phase, f.evals = r.lesson.dict, r.lesson.counts, r.lesson.phase, r.lesson.evals
		for i, v := range r.values[:r.lesson.counts.values] {
			f.values = append(f.values, formValue{v.Name, r.sources[i]})
		}
		for i := range families {
			if !f.dict && families[i].wrote(b) {
				f.kin |= 1 << i
			}
		}
	}
	fs.learn(h, f)
}

// pairsAnew reads the pairs of b into a slice of their own.
func (r *Reader) pairsAnew(b []byte) ([]pair, bool) {
	old := r.pairBuf
	r.pairBuf = nil
	ps, end := r.pairsFrom(b, 0)
	r.pairBuf = old
	return ps, end >= len(b)
}

// cut makes the segments.
func (f *form) cut(b []byte, digit []bool, free []gap) bool {
	before := noGap
	for i := 0; ; {
		j := i
		for j < len(b) && free[j] == noGap {
			j++
		}
		if len(f.segs) == maxSegs {
			return false
		}
		f.segs = append(f.segs, newSeg(b[i:j], digit[i:j]))
		f.segs[len(f.segs)-1].gap = before
		f.starts = append(f.starts, int32(i))
		if j == len(b) {
			return true
		}
		before = free[j]
		for i = j; i < len(b) && free[i] == before; i++ {
		}
	}
}

// name keeps the pairs, unless a name holds a digit that may change.
func (f *form) name(r *Reader, ps []pair, digit []bool) bool {
	if len(ps) == maxPairs {
		return false
	}
	b := f.line.b
	for i := range ps {
		p := &ps[i]
		if k := keyStart(b, p); k >= 0 {
			from := k
			if w := phrase(b, p, 3); w != nil {
				from = k + len(p.key) - len(w)
			}
			for _, d := range digit[from : k+len(p.key)] {
				if d {
					return false
				}
			}
		}
		pl := pairPlace{of: place{seg: -1}, times: 1}
		pl.val = f.place(p.at)
		v, n := number(b[p.at:])
		if p.unit {
			if e := p.at + n; e < len(b) && isAlpha(b[e]) {
				if s := suffix(b[e:]); s > 0 {
					pl.times = s
				}
			}
		}
		if v*pl.times != p.val && p.val == p.val {
			return false // "20_000_000"
		}
		if p.of >= 0 {
			o := p.end
			for o > p.at && b[o-1] != '/' && b[o-1] != ' ' {
				o--
			}
			if m, k := number(b[o:]); o+k != p.end || m != p.of {
				return false
			}
			pl.of = f.place(o)
		}
		if pl.val.seg < 0 || p.of >= 0 && pl.of.seg < 0 {
			return false
		}
		f.places = append(f.places, pl)
		cares := r.cares(b, p, !f.silent && r.lesson.dict)
		f.cares = append(f.cares, cares)
		f.state = append(f.state, p.state()&cares)
	}
	f.pairs = ps
	return true
}

// cares is what of the pair's state the reading hangs on: only what may be a
// counter is counted, and only a learning rate can be too large.
func (r *Reader) cares(b []byte, p *pair, dict bool) pairState {
	c := hasOf
	k := r.known(p.key)
	if len(p.key) == 0 || r.roleOf(b, p) != notCounter || len(p.key) == 5 && hasFold(p.key, "train") || k.role != notCounter {
		c |= countable
	}
	if k.name == "lr" {
		c |= large
	}
	if dict && k.role == countsEpochs {
		c &^= countable // a fraction of epochs
	}
	return c
}

// place is where the byte at stands, counted from the segment it is in.
func (f *form) place(at int) place {
	for i, v := range slices.Backward(f.segs) {
		if s := int(f.starts[i]); at >= s && at < s+v.n {
			return place{int32(i), int32(at - s)}
		}
	}
	return place{seg: -1}
}

func (fs *Forms) learn(skeleton uint32, f *form) {
	fs.fresh[skeleton] = true
	fs.learned = append(fs.learned, f)
	h := head(f.line.b)
	fs.young[h] = append(fs.young[h], f)
}

// keep files the form; a full shelf loses one of its own.
func (fs *Forms) keep(f *form) {
	h := head(f.line.b)
	old := fs.byHead[h]
	fs.turn++
	f.id = fs.turn
	var starts [maxSegs + 1]int32
	for i, o := range old {
		if o.match(f.line.b, &starts) { // it did not do: the conditions have changed
			f.again = o.again + 1
			old[i] = f
			return
		}
	}
	switch {
	case len(old) >= maxBucket:
		old[fs.turn%maxBucket] = f
	case fs.n < maxForms:
		fs.n++
		fs.byHead[h] = append(old, f)
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
	if has(s, "all ") || has(s, "|") || has(s, mllogMark) {
		return true
	}
	_, ok := message(b)
	return ok
}

// timeMember reports whether an object may hold its time.
func timeMember(b []byte) bool {
	for _, k := range [...]string{`"timestamp"`, `"time"`, `"ts"`, `"@timestamp"`, `"asctime"`, `"receiveTimestamp"`} {
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
