package logformat

import "time"

// Again reads a line of a known form by its numbers. At, when told, is the time
// of the line's own stamp. It is not done when the line has to be read the long
// way.
func (r *Reader) Again(f *Form, nums []float64, b []byte, at time.Time, told bool) (v Reading, ok, done bool) {
	if f.headed != (r.head.epoch >= 0) || len(r.cols.names) > 0 {
		return Reading{}, false, false
	}
	if f.bar != nil {
		return r.barAgain(f, nums, b, at, told)
	}
	if f.keras != nil {
		return r.kerasAgain(f, nums, b, at, told)
	}
	ps := append(r.pairBuf[:0], f.pairs...)
	r.pairBuf = ps
	for i := range ps {
		p := &ps[i]
		p.val, p.of = nums[2*i], nums[2*i+1]
		if p.state()&f.cares[i] != f.state[i] {
			return Reading{}, false, false
		}
	}
	if f.silent {
		for i := range ps {
			if f.plans {
				r.planPair(f.line.b, &ps[i])
			}
		}
		return Reading{}, false, true
	}
	if f.dict {
		return r.dictAgain(f, ps)
	}
	c := f.counts
	c.sum(ps)
	if (c.total > 0) != (f.counts.total > 0) {
		return Reading{}, false, false
	}
	r.refill(f, ps)
	r.out = Reading{Format: general, Step: -1, Total: -1, Epoch: -1, Phase: f.phase, Values: r.values}
	r.locate(f.line, ps, c, &r.out, f.evals)
	r.stampAgain(f, b, at, told)
	if f.kin != 0 {
		r.ofFamily(r.kinOf(f.kin))
	}
	return r.out, true, true
}

// stampAgain is the first part of settle.
func (r *Reader) stampAgain(f *form, b []byte, at time.Time, told bool) {
	switch {
	case f.timed:
		r.out.Time = jsonTime(b)
	case f.json:
	case told:
		r.out.Time = at
	default:
		var p Prefix
		p.stamp(b)
		r.out.Time = p.Time
	}
	if r.out.Progress {
		r.course.stamp(r.out.Time)
	}
}

// refill makes the values of the line.
func (r *Reader) refill(f *form, ps []pair) {
	r.values = r.values[:0]
	for _, k := range f.values {
		r.values = append(r.values, Value{k.name, ps[k.pair].val})
	}
}

// dictAgain places a dict of the Hugging Face Trainer.
func (r *Reader) dictAgain(f *form, ps []pair) (v Reading, ok, done bool) {
	epoch, step, total := -1.0, int64(-1), int64(-1)
	if i := f.counts.epoch; i >= 0 {
		epoch = ps[i].val
	}
	if i := f.counts.step; i >= 0 {
		if ps[i].val >= 1e15 {
			return Reading{}, false, false
		}
		step, total = int64(ps[i].val), int64(ps[i].of)
	}
	r.refill(f, ps)
	r.out = Reading{Format: "transformers", Step: -1, Total: -1, Epoch: -1, Phase: f.phase, Values: r.values}
	r.dict(f.line.b, epoch, step, total, f.counts.global, &r.out)
	return r.out, true, true
}

// kinOf is what familyOf gives for a line that these families wrote.
func (r *Reader) kinOf(wrote uint64) string {
	first := -1
	for i := range families {
		if wrote>>i&1 == 0 {
			continue
		}
		if r.kin == &families[i] {
			return r.kin.name
		}
		if first < 0 {
			first = i
		}
	}
	r.kin = &families[first]
	return r.kin.name
}
