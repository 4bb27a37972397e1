package logformat

import "bytes"

// counts are the counters of one line, as indexes into its pairs, -1 when the
// line does not hold them.
type counts struct {
	step, batch, epoch int
	global             bool
	total              int64  // stated beside the step
	told               int    // the pair that states it, -1 for none
	beside             bool   // as the M of its "N/M"
	cut                bool   // wenet's "Batch 3/500": the epoch and the batch
	values             int    // how many values the line has
	at                 [4]int // of a bar: where its numbers are
}

// sum takes the total from the pair that states it.
func (c *counts) sum(ps []pair) {
	switch {
	case c.told < 0:
	case c.beside:
		c.total = int64(ps[c.told].of)
	default:
		c.total = int64(ps[c.told].val)
	}
}

// general reads a line of any program: a counter in words with literal numbers,
// and beside it something that was measured.
func (r *Reader) general(l line, out *Reading) bool {
	ps := r.pairs(l.b)
	c := r.counts(l.b, ps)
	if c.step < 0 && c.batch < 0 && c.epoch < 0 {
		return r.evalLine(l.b, ps, out) || r.lone(l.b, ps, out)
	}
	first := c.first()
	if looksLikeCode(l.b) || denied(l.b, ps[first]) {
		return false
	}
	before := throughKey(l.b, &ps[first])
	out.Phase = phaseOf(before)
	if last := max(c.step, c.batch); last > first && evalBefore(l.b[:ps[last].at]) {
		out.Phase = PhaseEval
	}
	strong, weak := r.measured(l.b, ps, c, out)
	if !strong && !(weak && opensLine(before)) && !headed(l.b, ps, c) {
		return false
	}
	evaluates := out.Phase == PhaseEval
	r.setPhase(out)
	c.values = len(r.values)
	r.lesson = lesson{given: true, counts: c, phase: out.Phase, evals: evaluates}
	r.locate(l, ps, c, out, evaluates)
	return true
}

// counts finds the counters among the pairs.
func (r *Reader) counts(b []byte, ps []pair) counts {
	c := counts{step: -1, batch: -1, epoch: -1, total: -1, told: -1}
	for i := range ps {
		p := &ps[i]
		if p.unit || p.val < 0 || p.val != float64(int64(p.val)) || p.val > 1e15 {
			continue
		}
		if len(p.key) == 0 {
			c.bare(b, ps, i, r.head.epoch >= 0)
			continue
		}
		if len(p.key) == 5 && i+1 < len(ps) && ps[i+1].box == '[' && ps[i+1].of > 0 && len(ps[i+1].key) == 0 && hasFold(p.key, "train") {
			c.epoch = i // "Train: [0/300][40/1251]", "Train: 0 [ 300/1251 ( 24%)]"
			continue
		}
		c.take(b, ps, i, r.roleOf(b, p))
	}
	return c
}

// roleOf is what the pair counts; a space between key and number is enough only
// for whole numbers.
func (r *Reader) roleOf(b []byte, p *pair) role {
	k := r.known(p.key).role
	if string(p.key) == "Up." || string(p.key) == "Iteration" && contains(b[:p.at], "[Epoch ") && contains(b[:p.at], "][Iteration ") {
		return countsGlobal // Marian's updates, BigDL's "[Epoch 1 640/60000][Iteration 5]"
	}
	if k == notCounter && len(p.key) == 1 && p.sep == ':' && lower(p.key[0]) == 's' && has(b, "s:") {
		return countsSteps
	}
	if p.sep == ' ' && !p.int {
		return notCounter
	}
	return k
}

// wenets reports whether the words before a count of batches are those of
// wenet's "DEBUG TRAIN Batch 3/500 loss 12.3".
func wenets(before []byte) bool {
	return bytes.HasSuffix(before, []byte("TRAIN Batch ")) || bytes.HasSuffix(before, []byte("CV Batch ")) ||
		bytes.HasSuffix(before, []byte("| Batch ")) && (contains(before, " TRAIN ") || contains(before, " CV "))
}

func (c *counts) take(b []byte, ps []pair, i int, k role) {
	switch k {
	case countsGlobal:
		if c.step < 0 || !c.global {
			c.step, c.global = i, true
			c.told, c.beside = i, true
			c.sum(ps)
		}
	case countsSteps:
		if c.step < 0 || c.step == i-1 && !c.global && iterThenStep(ps, i) {
			c.step, c.told, c.beside = i, i, true
			c.sum(ps)
		}
	case countsBatches:
		if c.batch < 0 {
			c.batch = i
			c.cut = ps[i].of >= 0 && ps[i].sep == ' ' && wenets(b[:ps[i].at])
		}
	case countsEpochs:
		if c.epoch < 0 {
			c.epoch = i
		}
	case plansSteps, plansTotal:
		if c.total < 0 && c.step >= 0 {
			c.told, c.beside = i, false
			c.sum(ps)
		}
	}
}

// iterThenStep reports whether two counters follow each other as in LitGPT's
// "iter 64 step 4": the first counts micro-batches, the second optimizer steps.
func iterThenStep(ps []pair, i int) bool {
	a, b := &ps[i-1], &ps[i]
	return a.sep == ' ' && b.sep == ' ' && a.of < 0 && string(a.key) == "iter" && string(b.key) == "step" && b.at == a.end+len(" step ")
}

// bare takes a bracketed number without a word: the batch after "Epoch [3]", or
// "[3/10][40/391]" and "[3/10]" at the start of the line.
func (c *counts) bare(b []byte, ps []pair, i int, headed bool) {
	p := &ps[i]
	if p.box != '[' {
		if c.epoch >= 0 && c.epoch == i-1 && p.of > 0 && c.batch < 0 && c.step < 0 {
			c.batch = i // "Epoch 3:  600 / 1440"
		}
		if headed && i == 0 && p.of > 0 && len(skipSpace(b[:p.at])) == 0 && c.step < 0 && c.epoch < 0 {
			c.batch = i // "3/59, train_loss: 0.69" under an epoch's headline
		}
		return
	}
	switch {
	case c.epoch >= 0 && c.epoch == i-1 && c.batch < 0 && c.step < 0:
		c.batch = i
	case c.epoch < 0 && c.step < 0 && p.of < 0 && i+1 < len(ps) && p.end+1 < len(b) && b[p.end] == ']' && b[p.end+1] == ' ' && ps[i+1].sep == '=' && opensLine(b[:p.at-1]):
		c.step = i // "[160] train_loss=0.28"
	case c.epoch < 0 && c.step < 0 && i == 0 && p.of > 0 && skipTo(b, p.at) == '[' && p.end < len(b) && b[p.end] == ']':
		if len(ps) > 1 && ps[1].box == '[' && ps[1].of > 0 && len(ps[1].key) == 0 {
			c.epoch, c.batch = 0, 1
		} else {
			c.epoch = 0
		}
	}
}

// skipTo is the first byte of the line that is no space, when only that stands
// before at.
func skipTo(b []byte, at int) byte {
	rest := skipSpace(b[:at])
	if len(rest) == 1 || len(rest) > 1 && len(skipSpace(rest[1:])) == 0 {
		return rest[0]
	}
	return 0
}

// first is the counter that stands first in the line.
func (c *counts) first() int {
	f := -1
	for _, i := range [...]int{c.step, c.batch, c.epoch} {
		if i >= 0 && (f < 0 || i < f) {
			f = i
		}
	}
	return f
}

// measured adds the line's values. Strong evidence is a known metric, weak a
// named decimal.
func (r *Reader) measured(b []byte, ps []pair, c counts, out *Reading) (strong, weak bool) {
	evalSegment, unit := false, "" // unit of the number before, which is no key of the next
	for i := range ps {
		p := &ps[i]
		r.pairAt = i
		if i == c.step || i == c.batch || i == c.epoch {
			unit = ""
			continue
		}
		own := len(p.key) > 0 && (unit == "" || len(bytes.TrimSpace(b[ps[i-1].end:p.at])) != len(p.key))
		if unit = unitRate(b, p, own); unit != "" {
			r.add(unit, p.val)
			weak = true
			continue
		}
		if !own {
			if i == c.step+1 && i > 0 && !p.int && bytes.IndexByte(b[ps[i-1].end:p.at], ':') >= 0 && containsFold(b[:ps[i-1].at], "loss") {
				r.add("loss", p.val) // "Training loss at step 40: 1.0358"
				strong = true
			}
			continue
		}
		name := r.metric(b, p)
		if string(p.key) == "reached" {
			name = quotedBefore(b[:keyStart(b, p)])
		}
		if name == "" {
			name = r.spelled(b, p)
			weak = weak || !p.int && (name != "" || p.unit && c.total > 0)
			strong = strong || !p.int && endsFold(p.key, "loss")
			if name == "" {
				continue
			}
		} else {
			strong = strong || name != "lr" || c.step >= 0
			if isEval(name) {
				evalSegment = true
			} else if evalSegment && hasValue(r.values, name) {
				if name = evalName(name); name == "" {
					continue
				}
			}
		}
		r.add(phased(name, out.Phase), p.val)
	}
	out.Values = r.values
	return strong, weak
}

// locate makes the counters a position and reports it.
func (r *Reader) locate(l line, ps []pair, c counts, out *Reading, evaluates bool) {
	if evaluates {
		out.Phase = PhaseEval
		r.evaluated(out.Format)
		r.here(out)
		return
	}
	var a at
	switch {
	case c.cut:
		p := &ps[c.batch]
		a = r.place(out.Format, spot{epoch: int64(p.val), epochs: -1, batch: int64(p.of), batches: -1, base: 0})
	case c.step >= 0 && !c.global && c.epoch < 0 && r.head.epoch >= 0 && r.underHead(out.Format, &ps[c.step]):
		a = r.place(out.Format, spot{epoch: r.head.epoch, epochs: r.head.epochs, batch: int64(ps[c.step].val), batches: int64(ps[c.step].of), base: r.head.base()})
	case c.step >= 0 && (c.global || c.epoch < 0):
		a = at{from: fromSteps, step: int64(ps[c.step].val), total: c.total, epoch: -1, epochs: -1}
		if c.global {
			a.from = fromGlobal
		}
		if c.epoch >= 0 {
			a.epoch = ps[c.epoch].val
		}
	case c.epoch >= 0 && (c.step >= 0 || c.batch >= 0):
		i := c.batch
		if i < 0 {
			i = c.step
		}
		if l.samples(&ps[i]) && !(hasFold(ps[c.epoch].key, "train") && len(ps[c.epoch].key) == 5) {
			r.inSamples(ps, c, i, out)
			return
		}
		a = r.place(out.Format, spot{epoch: int64(ps[c.epoch].val), epochs: int64(ps[c.epoch].of), batch: int64(ps[i].val), batches: int64(ps[i].of), base: -1})
	case c.epoch >= 0:
		r.epochLine(ps[c.epoch], out)
		return
	case r.head.epoch < 0 && r.plan.epochs <= 1:
		a = at{from: fromSteps, step: int64(ps[c.batch].val), total: int64(ps[c.batch].of), epoch: -1, epochs: -1}
	default:
		a = r.place(out.Format, spot{epoch: r.head.epochOr(0), epochs: r.head.epochs, batch: int64(ps[c.batch].val), batches: int64(ps[c.batch].of), base: r.head.base()})
	}
	r.advance(a, out)
}

// underHead notes a step under an announced epoch and reports whether steps are
// counted anew in each.
func (r *Reader) underHead(format string, p *pair) bool {
	o := r.course.roundsOf(format)
	s := spot{epoch: r.head.epoch, batch: int64(p.val), batches: int64(p.of)}
	if o.seen && s.epoch > o.epoch && s.batch < o.batch {
		return true
	}
	if !o.resets {
		o.learn(s)
	}
	return o.resets
}

// headed reports whether the line is nothing but counters in brackets, the head
// of a block of metrics: "[epoch=1][batch=50/25000]:".
func headed(b []byte, ps []pair, c counts) bool {
	if s := skipSpace(b); has(s, "--> STEP: ") || has(s, "--> TIME: ") && contains(s, "-- STEP: ") { // Coqui's
		return true
	}
	i := max(c.step, c.batch)
	if i < 0 || ps[i].of <= 0 {
		return false
	}
	open := bytes.IndexByte(beforeKey(b, &ps[c.first()]), '[')
	rest := bytes.TrimRight(b[ps[i].end:], " :")
	return open >= 0 && ps[i].sep == '=' && (len(rest) == 1 && rest[0] == ']' || has(rest, ",epoch="))
}
