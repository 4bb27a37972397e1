package logformat

// rounds is what a format's lines have shown of how it counts epochs and batches.
type rounds struct {
	zeroEpoch, zeroBatch bool
	runsOn               bool  // batches are not counted anew in each epoch
	resets               bool  // they are
	samples              bool  // what is counted is samples
	head, size           int64 // the first count of samples; of one batch, 0 unknown
	batches              int64
	epoch, batch, stride int64
	seen                 bool
}

// spot is an epoch and batch as a line prints them. -1 is unknown.
type spot struct {
	epoch, epochs  int64
	batch, batches int64
	base           int64 // what the first epoch is called, when the form fixes it; else -1
	done           bool  // batch counts batches done; else it may be an index from 0
	whole          bool  // the line sums up an epoch that is done
}

func (c *course) roundsOf(format string) *rounds {
	o := c.rounds[format]
	if o == nil {
		o = &rounds{batches: -1, epoch: -1, batch: -1}
		c.rounds[format] = o
	}
	return o
}

// place turns a spot into a position in global steps.
func (r *Reader) place(format string, s spot) at {
	o := r.course.roundsOf(format)
	if s.epochs < 0 {
		s.epochs = r.plan.epochs
	}
	if s.epoch > s.epochs {
		s.epochs = -1 // what was read as the plan was something else
	}
	if s.batches < 0 && r.plan.batches > 0 && s.batch <= r.plan.batches {
		s.batches = r.plan.batches
	}
	if s.epochs > 0 {
		r.plan.epochs = s.epochs
	}
	base := o.base(s)
	past := max(0, s.epoch-base)
	if s.whole {
		return r.wholeEpochs(o, past+1, s)
	}
	o.learn(s)
	batch := s.batch
	if o.zeroBatch && !s.done && batch == s.batches-1 {
		batch = s.batches
	}
	a := at{from: fromBatches, total: -1, epoch: float64(past), epochs: float64(s.epochs), step: batch}
	per := s.batches
	if o.runsOn || per > 0 && per == r.plan.total {
		a.total = per
		a.from = fromSteps
		return a
	}
	if per <= 0 {
		if per = o.batches; per <= 0 || !o.resets {
			return a
		}
	}
	a.step = past*per + batch
	a.epoch += float64(batch) / float64(per)
	if s.epochs > 0 {
		a.total = s.epochs * per
	}
	return a
}

// wholeEpochs is the position after done epochs.
func (r *Reader) wholeEpochs(o *rounds, done int64, s spot) at {
	a := at{from: fromEpochs, step: done, total: s.epochs, epoch: float64(done), epochs: float64(s.epochs)}
	if per := s.batches; per > 0 {
		a.from, a.step, a.total = fromBatches, done*per, -1
		if s.epochs > 0 {
			a.total = s.epochs * per
		}
	}
	return a
}

// base is what the first epoch is called.
func (o *rounds) base(s spot) int64 {
	if s.epoch == 0 {
		o.zeroEpoch = true
	}
	if s.epochs > 0 && s.epoch == s.epochs {
		return 1 // counted from 0 it would not reach the number of epochs
	}
	if s.base >= 0 && !(s.base == 1 && o.zeroEpoch) {
		return s.base
	}
	if o.zeroEpoch {
		return 0
	}
	return 1
}

// learn keeps what the spot shows of the way of counting.
func (o *rounds) learn(s spot) {
	if s.batch == 0 && !s.done {
		o.zeroBatch = true
	}
	if o.seen && s.epoch > o.epoch && o.batch > 0 && s.batch >= 0 {
		switch {
		case s.batch > o.batch && o.batch+2*max(o.stride, 1) >= s.batch && !o.resets:
			o.runsOn = true
		case s.batch <= o.batch:
			o.resets, o.runsOn = true, false
			if s.batches < 0 {
				o.batches = max(o.batches, o.batch)
			}
		}
	}
	if o.seen && s.epoch == o.epoch && s.batch > o.batch {
		o.stride = s.batch - o.batch
	}
	if s.batches > 0 {
		o.batches = s.batches
	}
	o.seen, o.epoch, o.batch = true, s.epoch, s.batch
}

// endEpoch is told when an evaluation or a summary shows that the epoch under
// way is over: its last lines may not have been printed. The batches must have
// come within one printing interval of the end.
func (r *Reader) endEpoch(format string) (at, bool) {
	o := r.course.rounds[format]
	if o == nil || !o.seen || o.batches <= 0 || o.runsOn || o.batch >= o.batches && !o.samples {
		return at{}, false
	}
	if o.batch+max(o.stride, 1) < o.batches {
		return at{}, false
	}
	s := spot{epoch: o.epoch, epochs: r.plan.epochs, batches: o.batches, base: -1, whole: true}
	if o.zeroEpoch {
		s.base = 0
	}
	o.batch = o.batches
	if o.samples {
		s.batches = -1
	}
	return r.place(format, s), true
}
