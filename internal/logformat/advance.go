package logformat

// advance reports a training position and writes it into the reading.
func (r *Reader) advance(a at, out *Reading) {
	if a.total < 0 && a.from >= fromBatches && r.plan.total >= a.step && a.from != fromBatches {
		a.total = r.plan.total
	}
	r.course.report(a, out.Format, out.Time, r.restart, r.restored)
	r.restart, r.restored = false, -1
	out.Progress = true
	out.Step, out.Total, out.Epoch = a.step, a.total, a.epoch
}

// here gives a reading without a counter the step where training stands.
func (r *Reader) here(out *Reading) {
	if m := r.course.main(); m != nil {
		out.Step, out.Total, out.Epoch = m.step, m.total, m.epoch
	}
}

// epochLine reads a line that tells of an epoch and of values: the epoch is done.
func (r *Reader) epochLine(p pair, out *Reading) {
	s := spot{epoch: int64(p.val), epochs: int64(p.of), batch: -1, batches: -1, base: -1, whole: true}
	if s.epochs < 0 && r.plan.epochs > 0 {
		s.epochs = r.plan.epochs
	}
	if m := r.course.main(); m != nil && m.from > fromEpochs {
		if a, ok := r.endEpoch(m.format); ok {
			a.quiet = true
			r.course.report(a, m.format, out.Time, false, -1)
		}
		r.here(out)
		return
	}
	r.advance(r.place(out.Format, s), out)
}

// evaluated takes note that an evaluation runs: the epoch may be over.
func (r *Reader) evaluated(string) {
	m := r.course.main()
	if m == nil {
		return
	}
	if o := r.course.rounds[m.format]; m.from != fromBatches && (o == nil || !o.samples) {
		return
	}
	if a, ok := r.endEpoch(m.format); ok {
		a.quiet = true
		r.course.report(a, m.format, m.when, false, -1)
	}
}

// samples reports whether the pair counts samples: "[640/60000 (1%)]".
func (l line) samples(p *pair) bool {
	rest := skipSpace(l.b[p.end:])
	return p.of > 0 && len(rest) > 2 && rest[0] == '(' && isDigit(rest[1]) && contains(rest[:min(len(rest), 8)], "%)")
}

// inSamples places a line that counts samples. They become steps only where the
// batch size is known; a full count is an epoch.
func (r *Reader) inSamples(ps []pair, c counts, i int, out *Reading) {
	n, total := int64(ps[i].val), int64(ps[i].of)
	size := r.batchOf(n, total, out.Format)
	e := ps[c.epoch]
	if size > 0 {
		s := spot{epoch: int64(e.val), epochs: int64(e.of), batch: n / size, batches: (total + size - 1) / size, base: -1}
		s.done = true
		r.advance(r.place(out.Format, s), out)
		return
	}
	s := spot{epoch: int64(e.val), epochs: int64(e.of), batch: n, batches: total, base: -1, whole: n >= total, done: true}
	o := r.course.roundsOf(out.Format)
	o.samples = true
	o.base(s)
	o.learn(s)
	s.batch, s.batches = -1, -1
	a := at{from: fromEpochs, step: max(0, s.epoch-o.base(s)), total: -1, epoch: -1, epochs: -1}
	if s.whole {
		a = r.place(out.Format, s)
	}
	a.epoch = float64(s.epoch-o.base(s)) + ps[i].val/ps[i].of
	r.advance(a, out)
}

// batchOf is the number of samples in a batch, when the plan or the counts tell
// it: a first line is often printed after one batch, as open_clip does.
func (r *Reader) batchOf(n, total int64, format string) int64 {
	o := r.course.roundsOf(format)
	switch {
	case total == r.plan.samples && r.plan.batchSize > 0:
		return r.plan.batchSize
	case o.head == 0:
		o.head = max(n, 1)
	case o.size == 0 && o.head > 1 && n > 2*o.head && n%o.head == 0:
		o.size = o.head
	case o.size == 0:
		o.size = -1
	}
	return o.size
}

// evalLine reads an evaluation that counts for itself: "Test: [10/49] Loss 4.1".
func (r *Reader) evalLine(b []byte, ps []pair, out *Reading) bool {
	own := contains(b, "* ") && (has(skipSpace(b), "* ") || contains(b, " * Acc"))
	for i := 0; i < len(ps) && !own; i++ {
		own = ps[i].box == '[' && ps[i].of >= 0 && evalWords(ps[i].key)
	}
	if !own {
		return false
	}
	for i := range ps {
		p := &ps[i]
		if n := r.metric(b, p); n != "" && p.of < 0 {
			r.add(phased(n, PhaseEval), meanOf(b, p))
		}
	}
	if len(r.values) == 0 {
		return false
	}
	out.Values, out.Phase = r.values, PhaseEval
	r.evaluated(out.Format)
	r.here(out)
	return true
}

// meanOf is the running mean that an evaluation prints behind the value of its
// last batch, "Acc@1: 85.86 (77.90)", else the value.
func meanOf(b []byte, p *pair) float64 {
	rest := skipSpace(b[p.end:])
	if len(rest) < 3 || rest[0] != '(' {
		return p.val
	}
	rest = skipSpace(rest[1:])
	if v, n := number(rest); n > 0 && n < len(rest) && rest[n] == ')' {
		return v
	}
	return p.val
}

// lone reads a line of values without a counter: it must open with a metric.
func (r *Reader) lone(b []byte, ps []pair, out *Reading) bool {
	found := false
	for i := range ps {
		p := &ps[i]
		if len(p.key) == 0 || p.int && p.of <= 0 || p.sep == ' ' && (len(ps) > 3 || !r.alone(b, p)) {
			continue
		}
		if p.of > 0 { // "Accuracy: 9845/10000"
			if n := r.metric(b, p); found && n == "accuracy" {
				r.add(phased(n, out.Phase), p.val/p.of)
			}
			continue
		}
		before := beforeKey(b, p)
		if w := phrase(b, p, 2); w != nil {
			before = before[:len(before)-(len(w)-len(p.key))]
		}
		switch n := r.metric(b, p); n {
		case "loss", "accuracy", "perplexity", "grad_norm", "eval_loss", "eval_accuracy", "eval_perplexity":
			if !found && !opensLine(before) {
				return false
			}
			if !found && evalWords(before) {
				out.Phase = PhaseEval
			}
			n = phased(n, out.Phase)
			found = true
			r.add(n, p.val)
		case "":
			if len(ps) == 1 && scoreKey(p.key) && r.alone(b, p) { // "dev_f1:0.089"
				found = true
				r.add(string(p.key), p.val)
			}
		default:
			if found {
				r.add(n, p.val)
			}
		}
	}
	if !found || looksLikeCode(b) || contains(b, "weight") {
		r.values = r.values[:0]
		return false
	}
	out.Values = r.values
	r.setPhase(out)
	if out.Phase == PhaseEval {
		r.evaluated(out.Format)
	}
	r.here(out)
	return true
}

// scoreKey reports whether a name is that of a score on held-out data.
func scoreKey(key []byte) bool {
	if !evalWords(key) {
		return false
	}
	for _, w := range [...]string{"_f1", "_auc", "_bleu", "_wer", "_cer", "_map", "_mcc", "_acc", "_miou"} {
		if endsFold(key, w) {
			return true
		}
	}
	return false
}

// phased is the name of a metric in a phase.
func phased(name string, p Phase) string {
	if p == PhaseEval {
		if e := evalName(name); e != "" {
			return e
		}
	}
	return name
}

// alone reports whether the line ends with the pair and begins, after a stamp,
// with its key: "train_loss -0.0106".
func (r *Reader) alone(b []byte, p *pair) bool {
	before := trimSpace(beforeKey(b, p))
	return len(skipSpace(b[p.end:])) == 0 && (len(before) == 0 || before[len(before)-1] == ':')
}
