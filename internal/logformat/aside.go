package logformat

// headline is the epoch that a line of its own announced.
type headline struct {
	epoch, epochs int64 // -1 when none
	seq           int64 // how many there were
	zero          bool
}

func (h *headline) reset() { *h = headline{epoch: -1, epochs: -1} }

func (h *headline) epochOr(d int64) int64 {
	if h.epoch < 0 {
		return d
	}
	return h.epoch
}

func (h *headline) base() int64 {
	if h.epoch < 0 || h.zero {
		return 0
	}
	return -1
}

// aside reads what lines say beside readings: plans, epochs that begin or end,
// restarts and endings.
func (r *Reader) aside(l line) {
	if l.has&mDigit != 0 && l.has&(mWord|mCount|mEpoch) != 0 {
		r.planned(l)
		if l.has&mEpoch != 0 {
			r.epochAside(l.b)
		}
	}
	if l.has&mResume != 0 {
		r.restarts(l.b)
	}
	if l.has&mEnd != 0 && r.course.n > 0 {
		r.endings(l.b)
	}
	switch {
	case l.has&mMetric != 0 && has(skipSpace(l.b), vowpalHead):
		r.under = vowpalBlock
	case l.has&(mEpoch|mDigit) == mEpoch && r.yoloHeader(l):
	case l.has&(mEpoch|mCount|mHash) != 0 && l.has&mMetric != 0 && (l.has&mDigit == 0 || l.has&(mComma|mHash) != 0):
		r.header(l)
	}
}

// epochAside reads an epoch that a line announces or calls done.
func (r *Reader) epochAside(b []byte) {
	if len(b) > 400 || looksLikeCode(b) {
		return
	}
	s, before, rest := epochIn(b)
	if s.epoch < 0 {
		if e, ok := epochsSaved(b); ok {
			r.epochDone(spot{epoch: e, epochs: -1, batch: -1, batches: -1, base: 1, whole: true}, b)
		}
		return
	}
	if n := len(before); n > 0 && (before[n-1] == '/' || before[n-1] == '_' || isAlpha(before[n-1])) {
		return
	}
	w := lastWord(trimEnd(before))
	switch {
	case endsFold(trimEnd(before), "end of"), endsFold(trimEnd(before), "finished"), endsFold(trimEnd(before), "completed"), doneWord(rest):
		r.epochDone(s, b)
	case evalWords(before):
	case endsFold(trimEnd(before), "beginning of"), endsFold(trimEnd(before), "start of"):
		r.epochBegins(s)
	case anyWord(b, otherEpochs):
	case len(w) == 0 || !deniedWords[string(lowered(w))]:
		r.epochBegins(s)
	}
}

// otherEpochs are words of lines that name an epoch which does not begin now.
var otherEpochs = []string{"checkpoint", "load", "best", "resum", "restor", "warmup", "every", "sav"}

// epochBegins keeps an announced epoch.
func (r *Reader) epochBegins(s spot) {
	if s.epoch == r.head.epoch && (s.epochs < 0 || s.epochs == r.head.epochs) {
		return
	}
	if s.epochs > 0 {
		r.plan.epochs = s.epochs
	} else {
		s.epochs = r.head.epochs
	}
	r.head = headline{epoch: s.epoch, epochs: s.epochs, seq: r.head.seq + 1, zero: r.head.zero && s.epoch > 0 || s.epoch == 0}
	past := s.epoch - 1
	if r.head.zero {
		past++
	}
	total := s.epochs
	if total <= 0 {
		total = -1
	}
	r.course.report(at{from: fromEpochs, step: max(0, past), total: total, epoch: float64(max(0, past)), epochs: float64(total), quiet: true}, general, r.when(), false, -1)
}

// doneWord reports whether what follows an epoch's number calls it done.
func doneWord(b []byte) bool {
	b = skipSpace(b)
	for _, w := range [...]string{"done", "finished", "complete", "ended", "is done", "took"} {
		if hasFold(b, w) {
			return true
		}
	}
	return false
}

// epochsSaved reads mmcv's "Saving checkpoint at 4 epochs".
func epochsSaved(b []byte) (int64, bool) {
	i := indexFold(b, "checkpoint at ")
	if i < 0 {
		return 0, false
	}
	e, n := integer(b[i+len("checkpoint at "):])
	return e, n > 0 && hasFold(skipSpace(b[i+len("checkpoint at ")+n:]), "epoch")
}

// epochDone moves the course to the end of an epoch.
func (r *Reader) epochDone(s spot, b []byte) {
	m := r.course.main()
	if m == nil || m.from == fromGlobal {
		return
	}
	if s.epochs > 0 {
		r.plan.epochs = s.epochs
	}
	if m.from == fromEpochs {
		s.whole = true
		a := r.place(m.format, s)
		a.quiet = true
		r.course.report(a, m.format, m.when, false, -1)
		return
	}
	o := r.course.rounds[m.format]
	if i := indexFold(b, "iters "); i >= 0 && o != nil {
		if n, k := integer(b[i+6:]); k > 0 && s.epoch > 0 && n%s.epoch == 0 && n >= m.step && n/s.epoch >= o.batches {
			o.batches, o.resets = n/s.epoch, true
			if s.epochs > 0 {
				m.total = o.batches * s.epochs
			}
			r.course.report(at{from: m.from, step: n, total: m.total, epoch: float64(s.epoch), epochs: -1, quiet: true}, m.format, m.when, false, -1)
			return
		}
	}
	if a, ok := r.endEpoch(m.format); ok {
		a.quiet = true
		r.course.report(a, m.format, m.when, false, -1)
	}
}

var restartWords = [...]string{"resum", "restor", "loading checkpoint", "loaded checkpoint", "load checkpoint", "restarting", "continuing training"}

// restarts takes note of lines that tell of going on from a checkpoint.
func (r *Reader) restarts(b []byte) {
	i := -1
	for _, w := range restartWords {
		if i = indexFold(b, w); i >= 0 {
			break
		}
	}
	if i < 0 || containsFold(b, "shards") || len(b) > 600 {
		return
	}
	r.restart = true
	resumes := containsFold(b, "resum") || containsFold(b, "continu")
	for _, w := range [...]string{"global_step", "global step", "iteration", "step", "iter", "checkpoint-"} {
		if j := indexFold(b[i:], w); j >= 0 {
			rest := b[i+j+len(w):]
			for len(rest) > 0 && (isSpace(rest[0]) || rest[0] == '=' || rest[0] == ':' || rest[0] == '-' || rest[0] == '_') {
				rest = rest[1:]
			}
			if n, k := integer(rest); k > 0 {
				r.restored = n
				if resumes {
					r.resumedAt = n
				}
				return
			}
		}
	}
}

var endWords = [...]string{
	"training finished", "training complete", "training done", "training is done", "training has finished", "finished training",
	"trainer.fit` stopped", "early stopping", "training ended", "done training", "training time", "training completed", "end of training",
	"done with training", "training successful", "epochs completed in",
}

// endings takes note of words that end a training.
func (r *Reader) endings(b []byte) {
	if len(b) > 300 {
		return
	}
	if contains(b, "***** train metrics *****") {
		r.course.completed = true
		if m := r.course.main(); r.dictsAlone >= 4 && m != nil && m.total > 0 {
			r.course.report(at{from: m.from, step: m.total, total: m.total, epoch: -1, epochs: -1, quiet: true}, m.format, m.when, false, -1)
		}
		return
	}
	if !containsFold(b, "train") && !containsFold(b, "stopping") && !containsFold(b, "epochs completed") {
		return
	}
	for _, w := range endWords {
		if containsFold(b, w) {
			r.course.completed = true
			return
		}
	}
}

// idle is the total of a bar without words that never moved and that nothing
// followed: a training that failed before its first step, -1 when there is none.
func (b *bars) idle() int64 {
	if b.lastTotal >= 10 && b.lastN == 0 {
		return b.lastTotal
	}
	return -1
}
