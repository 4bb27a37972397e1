package logformat

import (
	"bytes"
	"math"
)

// barSays is what the words of a bar say of what it counts.
type barSays uint8

const (
	saysNothing barSays = iota
	saysEval
	saysOther
	saysTrain
)

func (d *bar) says() barSays {
	switch {
	case evalWords(d.desc) || contains(d.desc, "mAP50"):
		return saysEval
	case !stepUnit(d.unit) || otherWords(d.desc):
		return saysOther
	case trainWords(d.desc) || containsFold(d.post, "loss"):
		return saysTrain
	}
	return saysNothing
}

// barPhaseOf decides what a bar counts.
func (r *Reader) barPhaseOf(says barSays, d bar, s *barState) Phase {
	switch {
	case says == saysEval:
		return PhaseEval
	case says == saysOther:
		return PhaseOther
	case says == saysTrain:
		s.phase = PhaseTrain
		return PhaseTrain
	case d.total == r.plan.total:
		return PhaseTrain
	}
	if s.phase != PhaseTrain {
		s.phase = r.guess(d)
	}
	return s.phase
}

// guess judges a bar that does not say what it counts. Within a training that
// was announced with another length it is an evaluation; beside nothing else it
// is training when it takes its time.
func (r *Reader) guess(d bar) Phase {
	step, total := r.course.step()
	o := r.course.rounds["tqdm"]
	if m := r.course.main(); m != nil && m.from == fromEpochs && !r.plan.announced && len(d.desc) == 0 {
		if agrees(d, m.epoch) {
			return PhaseTrain
		}
	}
	switch {
	case o != nil && o.batches > 0 && o.batches != d.total && total != d.total:
		return PhaseEval
	case total > 0 && d.total == total:
		return PhaseTrain
	case r.plan.announced && r.plan.total > 0, step > 0 && step < total && len(d.desc) == 0:
		return PhaseEval
	case r.head.epoch >= 0 && len(d.desc) == 0:
		return PhaseTrain
	case d.elapsed >= 30 && d.total >= 10 && d.rate < 50 && len(d.desc) == 0 && step < 0:
		return PhaseTrain
	case d.elapsed >= 60 && d.total >= 10 && d.rate < 20 && step < 0:
		return PhaseTrain
	}
	return PhaseOther
}

// agrees reports whether a bar over a whole training of some epochs would stand
// where the epochs do that were reported.
func agrees(d bar, epoch float64) bool {
	if d.n <= 0 || d.total < 10 || d.elapsed < 30 || epoch <= 0 {
		return false
	}
	done := float64(d.n) / float64(d.total)
	epochs := math.Round(epoch / done)
	return epochs >= 1 && math.Abs(done*epochs-epoch) < 0.02
}

// stepUnit reports whether a bar counts steps and not bytes, files or examples.
func stepUnit(u []byte) bool {
	switch string(u) {
	case "", "it", "batch", "batches", "step", "steps", "iter", "iters", "epoch", "update", "updates", "Batch", "Step", "batchs":
		return true
	}
	return false
}

var otherParts = []string{
	"load", "download", "map", "token", "shard", "fetch", "process", "scan", "filter", "cach", "build", "resolv", "sav", "upload",
	"extract", "generat", "cast", "pack", "creat", "quantiz", "drop", "split", "convert", "read", "import", "install", "index", "verify",
	"check", "warmup", "merg", "copy", "pad", "sort", "sampl", "encod", "decod", "render", "rollout", "collect", "compil", "captur", "inspect", "analy", "feature", "worker", "latent", "bucket",
}

var trainParts = []string{"epoch", "train", "step", "iter", "loss", "fit", "optim", "updat", "finetun", "fine-tun", "learn"}

// otherWords reports whether a description names work that is not training.
func otherWords(desc []byte) bool { return anyWord(desc, otherParts) && !hasTrain(desc) }

func trainWords(desc []byte) bool { return anyWord(desc, trainParts) }

func hasTrain(desc []byte) bool {
	return anyWord(desc, trainParts[:1]) || anyWord(desc, []string{"training", "loss"})
}

// anyWord reports whether a word of b begins with one of the parts.
func anyWord(b []byte, parts []string) bool {
	for i := 0; i < len(b); i++ {
		if !isAlpha(b[i]) {
			continue
		}
		for _, p := range parts {
			if hasFold(b[i:], p) {
				return true
			}
		}
		for i < len(b) && isAlpha(b[i]) {
			i++
		}
	}
	return false
}

// barProgress turns a training bar into a position.
func (r *Reader) barProgress(d bar, s *barState, out *Reading) {
	if d.total <= 0 {
		return
	}
	if e, _, _ := epochIn(d.desc); e.epoch >= 0 {
		r.bars.inner = true
		e.batch, e.batches, e.done = d.n, d.total, true
		if containsFold(d.post, "v_num") {
			e.base = 0
		}
		r.advance(r.place(out.Format, e), out)
		return
	}
	if outerBar(d.desc) {
		r.outer(d, out)
		return
	}
	if st, e, ok := torchtune(d.desc); ok {
		r.torchtune(d, st, e, out)
		return
	}
	r.bars.inner = true
	r.advance(r.inner(d, s, out), out)
}

// inner places a bar that does not name its epoch: under the epoch announced
// last, as the whole training, or as the next of several rounds.
func (r *Reader) inner(d bar, s *barState, out *Reading) at {
	full := s.last >= d.total-max(1, d.total/10) // the last states of a bar may not be logged
	begins := d.n == 0 && s.last > 0 && !full
	if r.head.seq != s.seq && d.n >= s.last && s.last > 0 && s.last < d.total {
		s.global = true
	}
	s.seq = r.head.seq
	if s.global || d.total == r.plan.total || r.plan.announced && r.plan.total < 0 || stepsBar(d.desc) {
		return at{from: fromSteps, step: d.n, total: d.total, epoch: -1, epochs: -1, begins: begins}
	}
	if r.head.epoch >= 0 {
		a := r.place(out.Format, spot{epoch: r.head.epoch, epochs: r.head.epochs, batch: d.n, batches: d.total, base: r.head.base(), done: true})
		return a
	}
	if d.n < s.last/2 && full {
		s.rounds++
	}
	a := at{from: fromBatches, step: s.rounds*d.total + d.n, total: -1, epoch: float64(s.rounds), epochs: -1, begins: begins}
	if s.rounds == 0 && r.plan.epochs <= 1 {
		a.total = d.total
	} else if r.plan.epochs > 0 {
		a.total = r.plan.epochs * d.total
	}
	return a
}

// stepsBar reports whether a description says that the bar counts all steps.
func stepsBar(desc []byte) bool { return containsFold(desc, "steps") || containsFold(desc, "global") }

// outerBar reports whether a description names epochs without a number.
func outerBar(desc []byte) bool {
	if !containsFold(desc, "epoch") {
		return false
	}
	e, _, _ := epochIn(desc)
	return e.epoch < 0
}

// outer reads the bar over the epochs.
func (r *Reader) outer(d bar, out *Reading) {
	r.plan.epochs = d.total
	r.head = headline{epoch: d.n, epochs: d.total, seq: r.head.seq + 1, zero: true}
	if r.bars.inner || d.n == 0 {
		r.here(out)
		return
	}
	r.advance(at{from: fromEpochs, step: d.n, total: d.total, epoch: float64(d.n), epochs: float64(d.total)}, out)
}

// epochIn finds "epoch 3" or "Epoch [3/10]" in a text; it returns what stands
// before the word and after the numbers.
func epochIn(text []byte) (s spot, before, rest []byte) {
	s = spot{epoch: -1, epochs: -1, batch: -1, batches: -1, base: -1}
	for from := 0; ; {
		i := indexFold(text[from:], "epoch")
		if i < 0 {
			return s, text, nil
		}
		i += from
		from = i + len("epoch")
		b := bytes.TrimLeft(text[from:], " \t[:#=(_")
		if e, n := integer(b); n > 0 && (n == len(b) || !isAlpha(b[n])) {
			s.epoch = e
			s.epochs, rest = epochsAfter(b[n:])
			return s, text[:i], rest
		}
	}
}

// epochsAfter reads "/10" or " of 10" after an epoch, -1 when there is none.
func epochsAfter(b []byte) (int64, []byte) {
	b = skipSpace(b)
	switch {
	case has(b, "/"):
		b = skipSpace(b[1:])
	case has(b, "of "):
		b = skipSpace(b[3:])
	default:
		return -1, b
	}
	if m, n := integer(b); n > 0 {
		return m, b[n:]
	}
	return -1, b
}

// torchtune reads its description "1|1418|Loss: 1.01": epoch and global step.
func torchtune(desc []byte) (step, epoch int64, ok bool) {
	e, n := integer(desc)
	if n == 0 || n >= len(desc) || desc[n] != '|' {
		return 0, 0, false
	}
	st, k := integer(desc[n+1:])
	if k == 0 || n+1+k >= len(desc) || desc[n+1+k] != '|' {
		return 0, 0, false
	}
	return st, e, true
}

func (r *Reader) torchtune(d bar, step, epoch int64, out *Reading) {
	a := at{from: fromGlobal, step: step, total: -1, epoch: float64(epoch-1) + float64(d.n)/float64(d.total), epochs: -1}
	if r.plan.epochs > 0 {
		a.total = r.plan.epochs * d.total
	}
	out.Format = "torchtune"
	r.advance(a, out)
}
