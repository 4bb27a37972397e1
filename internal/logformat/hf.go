package logformat

import (
	"bytes"
	"math"
)

// transformers reads the dicts that the Hugging Face Trainer prints.
func (r *Reader) transformers(l line, out *Reading) bool {
	i := bytes.Index(l.b, []byte("{'"))
	if i < 0 {
		return false
	}
	b := l.b[i:]
	policy := contains(b, "'objective/") || contains(b, "'ppo/") // TRL's dicts of PPO hold no loss
	if !policy && !contains(b, "loss'") && !contains(b, "'train_runtime'") && !contains(b, "'eval_") && !contains(b, "'grad_norm'") {
		return false
	}
	epoch, step, total, known, global := -1.0, int64(-1), int64(-1), policy, false
	c := counts{step: -1, batch: -1, epoch: -1, told: -1}
	whole := i == 0 // of a form that can be learned: nothing before it, and no number with a unit counts
	ps := r.pairs(b)
	for i := range ps {
		p := &ps[i]
		if len(p.key) == 0 || p.sep != ':' {
			continue
		}
		r.pairAt = i
		switch k := r.known(p.key).role; {
		case k == countsEpochs:
			epoch = p.val
			c.epoch = i
			whole = whole && !p.unit
		case k == countsSteps || k == countsGlobal:
			whole = whole && !p.unit
			if p.val >= 0 && p.val == math.Trunc(p.val) && p.val < 1e15 {
				step, total, global = int64(p.val), int64(p.of), k == countsGlobal
				c.step, c.global = i, global
			}
		case k == notCounter:
			name := r.known(p.key).name
			known = known || name != "" && name != "lr"
			if name == "" {
				name = r.spelled(b, p)
			}
			if name != "" && !(name == "loss" && contains(b, "'train_runtime'")) { // the mean over the whole run
				r.add(name, p.val)
			}
		}
	}
	if !known || epoch < 0 && step < 0 && !policy && !has(b, "{'loss'") && !has(b, "{'eval_") && !has(b, "{'train_") {
		r.values = r.values[:0]
		return false
	}
	out.Values = r.values
	r.setPhase(out)
	c.values = len(r.values)
	r.lesson = lesson{given: whole && (has(b, "{'loss'") || has(b, "{'eval_")), dict: true, counts: c, phase: out.Phase}
	r.dict(b, epoch, step, total, global, out)
	return true
}

// dict places a dict by its step, or by its fraction of an epoch.
func (r *Reader) dict(b []byte, epoch float64, step, total int64, global bool, out *Reading) {
	ended := contains(b, "'train_runtime'")
	if out.Phase == PhaseTrain && !ended {
		r.promote("tqdm")
	}
	if out.Phase == PhaseEval && !ended {
		if step >= 0 && global { // it says after which step the model was evaluated
			r.course.report(at{from: fromGlobal, step: step, total: total, epoch: epoch, epochs: -1, quiet: true}, out.Format, out.Time, false, -1)
		}
		r.here(out)
		return
	}
	m := r.course.main()
	switch {
	case step >= 0:
		a := at{from: fromSteps, step: step, total: total, epoch: epoch, epochs: -1}
		if global {
			a.from = fromGlobal
		}
		r.advance(a, out)
	case ended && r.ranSteps(b, m, epoch, out):
	case m != nil && m.from >= fromBatches && (r.dictsAlone < 4 || m.step > 0):
		r.dictsAlone++
		r.here(out)
		out.Progress = true
		r.course.n++
	case epoch >= 0:
		r.dictsAlone++
		r.fraction(epoch, out)
	}
	if epoch >= 0 {
		out.Epoch = epoch
	}
	if ended {
		r.course.completed = true
	}
}

// fraction places what only tells a fraction of epochs done.
func (r *Reader) fraction(epoch float64, out *Reading) {
	p := &r.plan
	a := at{from: fromEpochs, step: int64(epoch), total: p.epochs, epoch: epoch, epochs: float64(p.epochs)}
	per := 0.0
	if p.samples > 0 && p.batchSize > 0 {
		per = float64(p.samples) / float64(p.batchSize)
	} else if p.total > 0 && p.epochs > 0 {
		per = float64(p.total) / float64(p.epochs)
	}
	if n := math.Round(epoch * per); per > 0 && (p.total < 0 || n <= float64(p.total)) {
		a.from, a.total, a.step = fromFraction, p.total, int64(n)
	}
	r.advance(a, out)
}

// ranSteps reads the number of steps from the summary of a run whose bar was not
// logged: its duration times its steps per second, where that is exact enough.
func (r *Reader) ranSteps(b []byte, m *track, epoch float64, out *Reading) bool {
	if m != nil && m.from >= fromBatches && m.step > 0 {
		return false
	}
	runtime, ok1 := after(b, "'train_runtime': ")
	rate, ok2 := after(b, "'train_steps_per_second': ")
	if !ok1 || !ok2 {
		return false
	}
	s, n := number(runtime)
	v, k := number(rate)
	if n == 0 || k == 0 {
		return false
	}
	steps, doubt := s*v, s*0.0005+1
	total := r.plan.total
	if m != nil && m.from >= fromBatches && m.total > 0 {
		total = m.total
	}
	switch {
	case total > 0 && math.Abs(steps-float64(total)) <= doubt:
		steps = float64(total)
	case doubt > 1.5:
		return false
	}
	a := at{from: fromFraction, step: int64(math.Round(steps)), total: total, epoch: epoch, epochs: -1}
	if a.total < 0 {
		a.total = a.step
	}
	r.advance(a, out)
	return true
}

// metricsBlock reads a row of the Trainer's closing tables, "  eval_wer    =  12.3",
// behind a logger's prefix or not.
func (r *Reader) metricsBlock(l line, out *Reading) bool {
	i := bytes.Index(l.b, []byte("eval_"))
	if i < 0 || i > 0 && !isSpace(l.b[i-1]) {
		return false
	}
	name, rest, ok := bytes.Cut(l.b[i:], []byte(" = "))
	name = bytes.TrimRight(name, " ")
	if !ok || bytes.IndexByte(name, ' ') >= 0 || len(name) > 64 {
		return false
	}
	rest = bytes.TrimSpace(rest)
	v, n := number(rest)
	if n == 0 || n != len(rest) {
		return false
	}
	r.add(Canonical(string(name)), v)
	out.Values, out.Phase = r.values, PhaseEval
	r.here(out)
	return true
}
