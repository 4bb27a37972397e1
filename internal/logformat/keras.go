package logformat

// keras reads Keras's bars, of version 2 ("45/100 [==>..] - ETA: 1s - loss: 0.3")
// and 3 ("45/100 ━━━━ 1s 20ms/step - loss: 0.3"), and its one-line summaries.
func (r *Reader) keras(l line, out *Reading) bool {
	b := skipSpace(l.b)
	n, k := integer(b)
	if k == 0 || k >= len(b) || b[k] != '/' {
		return false
	}
	total, j := integer(b[k+1:])
	if j == 0 {
		if !has(b[k+1:], "Unknown") {
			return false
		}
		total, j = -1, len("Unknown")
	}
	rest := skipSpace(b[k+1+j:])
	if len(rest) == 0 || rest[0] != '[' && rest[0] != '-' && rest[0] < 0x80 && !(isDigit(rest[0]) && contains(rest, "/step")) {
		return false
	}
	if !contains(rest, "/step") && !contains(rest, "ETA") && !contains(rest, "/sample") && !contains(rest, "- loss") && !contains(rest, "s/epoch") && !contains(rest, "s - ") {
		return false
	}
	r.spots = cap(l.b) - cap(rest)
	r.kerasValues(rest, out)
	samples := contains(rest, "/sample")
	r.lesson = lesson{given: true, keras: &kerasForm{total: total >= 0, samples: samples}, drawn: kerasDrawn(l.b, rest)}
	c := &r.lesson.counts
	c.values = len(r.values)
	c.at[0] = cap(l.b) - cap(b)
	c.at[1] = c.at[0] + k + 1
	r.keepValues()
	r.kerasBar(n, total, samples, out)
	return true
}

// kerasBar places a bar.
func (r *Reader) kerasBar(n, total int64, samples bool, out *Reading) {
	if r.kerasOther(n, total, out) {
		return
	}
	out.Phase = PhaseTrain
	if samples || total > 0 && total == r.plan.samples {
		r.kerasSamples(n, total, out)
		return
	}
	r.advance(r.place(out.Format, spot{epoch: r.head.epochOr(1), epochs: r.head.epochs, batch: n, batches: total, base: 1, done: true}), out)
}

// kerasValues adds the bar's metrics.
func (r *Reader) kerasValues(b []byte, out *Reading) {
	ps := r.pairs(b)
	for i := range ps {
		p := &ps[i]
		if p.sep != ':' || p.unit || len(p.key) == 0 || string(p.key) == "ETA" {
			continue
		}
		name := r.known(p.key).name
		if name == "" {
			name = string(p.key)
		}
		r.pairAt = r.spots + p.at
		r.add(name, p.val)
	}
	out.Values = r.values
}

// kerasOther takes the bars of evaluate and predict: they come without an epoch,
// or after the epoch's own bar was full, with another length.
func (r *Reader) kerasOther(n, total int64, out *Reading) bool {
	o := r.course.roundsOf(out.Format)
	full := o.seen && o.batches > 0 && o.batch >= o.batches && o.epoch == r.head.epochOr(1)
	if len(r.values) > 0 && !(full && (total != o.batches || n < o.batch)) {
		return false
	}
	out.Phase = PhaseEval
	for i := range r.values {
		if e := evalName(r.values[i].Name); e != "" {
			r.values[i].Name = e
		}
	}
	r.here(out)
	return true
}

// kerasSamples places a bar that counts samples: only whole epochs are steps.
func (r *Reader) kerasSamples(n, total int64, out *Reading) {
	s := spot{epoch: r.head.epochOr(1), epochs: r.head.epochs, batch: -1, batches: -1, base: 1, whole: true}
	if n < total {
		s.epoch--
		r.plan.samples = total
	}
	r.advance(r.place(out.Format, s), out)
}
