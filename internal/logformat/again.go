package logformat

import "time"

// Again reads a line of a known form by its numbers; more may follow them. At, when told, is the time
// of the line's own stamp. It is not done when the line has to be read the long
// way. The reading is valid until the next line; nil is none.
func (r *Reader) Again(f *Form, nums []float64, b []byte, at time.Time, told bool) (v *Reading, done bool) {
	switch {
	case len(r.cols.names) > 0, f.mute && r.yoloNames != nil, f.silent && r.under != noBlock, r.under > stepBlock, f.headed != headsAlike && (f.headed == underHead) != (r.head.epoch >= 0):
		return nil, false
	case f.silent:
		r.statesAgain(f, nums)
		return nil, true
	case f.bar != nil:
		return r.barAgain(f, nums, b, at, told)
	case f.keras != nil:
		return r.kerasAgain(f, nums, b, at, told)
	}
	for _, i := range f.told {
		f.renew(i, nums)
	}
	if f.dict {
		return r.dictAgain(f, nums)
	}
	c := f.counts
	c.sum(f.pairs)
	r.refill(f, nums)
	r.out = Reading{Format: general, Step: -1, Total: -1, Epoch: -1, Phase: f.phase, Values: r.values}
	r.locate(f.line, f.pairs, c, &r.out, f.evals)
	r.stampAgain(f, nums, b, at, told)
	if f.kin != 0 {
		r.ofFamily(r.kinOf(f.kin))
	}
	return &r.out, true
}

// renew gives a pair of the form the numbers of the line at hand. Forms are read
// by one goroutine.
func (f *form) renew(i int, nums []float64) {
	pl, p := &f.places[i], &f.pairs[i]
	if pl.val >= 0 {
		p.val = nums[pl.val]
		if pl.times != 1 {
			p.val *= pl.times
		}
	}
	if pl.of >= 0 {
		p.of = nums[pl.of]
	}
}

// statesAgain reads what a silent line states of the plan.
func (r *Reader) statesAgain(f *form, nums []float64) {
	for i := range f.plans {
		op := &f.plans[i]
		f.renew(op.pair, nums)
		r.plan.read(op.planOp, f.pairs[op.pair].val, f.pairs[op.pair].of)
	}
}

// stampAgain is the first part of settle.
func (r *Reader) stampAgain(f *form, nums []float64, b []byte, at time.Time, told bool) {
	switch {
	case f.timed.part >= 0:
		r.out.Time = time.Unix(int64(nums[f.used]), int64(nums[f.used+1])).UTC()
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
func (r *Reader) refill(f *form, nums []float64) {
	r.values = r.values[:0]
	for i := range f.values {
		k := &f.values[i]
		v := k.val
		if k.slot >= 0 {
			if v = nums[k.slot]; k.times != 1 {
				v *= k.times
			}
		}
		r.values = append(r.values, Value{k.name, v})
	}
}

// dictAgain places a dict of the Hugging Face Trainer.
func (r *Reader) dictAgain(f *form, nums []float64) (v *Reading, done bool) {
	epoch, step, total := -1.0, int64(-1), int64(-1)
	if i := f.counts.epoch; i >= 0 {
		epoch = f.pairs[i].val
	}
	if i := f.counts.step; i >= 0 {
		if f.pairs[i].val >= 1e15 {
			return nil, false
		}
		step, total = int64(f.pairs[i].val), int64(f.pairs[i].of)
	}
	r.refill(f, nums)
	r.out = Reading{Format: "transformers", Step: -1, Total: -1, Epoch: -1, Phase: f.phase, Values: r.values}
	r.dict(f.line.b, epoch, step, total, f.counts.global, &r.out)
	return &r.out, true
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
