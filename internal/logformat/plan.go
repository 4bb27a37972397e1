package logformat

// plan is what a log states beforehand. -1 is unknown.
type plan struct {
	total, epochs, batches int64
	batchSize, samples     int64 // of one step over all devices; of the training data
	announced              bool  // a trainer announced that training begins
	aside                  bool  // or an evaluation: what it counts is not the training data
}

func (p *plan) reset() { *p = plan{total: -1, epochs: -1, batches: -1, batchSize: -1, samples: -1} }

// whole is the planned number of steps.
func (p *plan) whole() int64 {
	if p.total > 0 {
		return p.total
	}
	if p.epochs > 0 && p.batches > 0 {
		return p.epochs * p.batches
	}
	return -1
}

// planned reads what a line states about the length of the training.
func (r *Reader) planned(l line) {
	if contains(l.b, "***** Running training") {
		r.plan.reset()
		r.plan.announced = true
		r.course.completed = false
		return
	}
	if contains(l.b, "***** Running ") {
		r.plan.aside = true
		return
	}
	for i, n := 0, 0; i < len(l.b) && n < 8; n++ {
		var ps []pair
		ps, i = r.pairsFrom(l.b, i)
		for k := range ps {
			r.planPair(l.b, &ps[k])
		}
	}
}

func (r *Reader) planPair(b []byte, p *pair) {
	if p.val < 1 && p.of < 1 || p.unit || p.val != float64(int64(p.val)) || p.val > 1e12 {
		return
	}
	v := int64(p.val)
	if len(p.key) > 0 {
		c := r.known(p.key).role
		if c == countsGlobal && (hasFold(p.key, "total_timesteps") || hasFold(p.key, "total-timesteps") || hasFold(p.key, "total_steps")) {
			c = plansSteps
		}
		if c == notCounter || c == countsSteps || c == countsBatches || c == countsOther {
			c = phrasePlan(b[:p.at])
		}
		aside := r.plan.aside && (c == plansSamples || c == plansBatchSize)
		if v > 0 && !aside && !(c == plansBatches && evalWords(b[:p.at])) {
			r.plan.take(c, v)
		}
		if k := r.known(p.key).role; k == countsSteps && p.of >= 1 && contains(b[p.at:p.end], " of ") { // "starting at step 0 of 200000"
			r.plan.total = int64(p.of)
		} else if k == countsSteps && p.sep != ' ' && p.of < 0 && hasFold(p.key, "iterations") {
			r.plan.total = v
		}
	}
	switch rest := skipSpace(b[p.end:]); {
	case hasFold(rest, "samples") && has(skipSpace(b), "Train on"):
		r.plan.samples = v
	case hasFold(rest, "epochs") && p.of >= 1: // "after 8 of 60 epochs"
		r.plan.epochs = int64(p.of)
	case hasFold(rest, "epochs") && (len(rest) == 6 || !isWord(rest[6])) && planVerb(b[:p.at]):
		r.plan.epochs = v
	case hasFold(rest, "steps per epoch"), hasFold(rest, "iterations per epoch"), hasFold(rest, "batches per epoch"):
		r.plan.batches = v
	}
}

// phrasePlan reads the plans that are told in two or more words.
func phrasePlan(b []byte) role {
	b = trimEnd(b)
	for _, f := range planPhrases {
		if endsFold(b, f.words) {
			return f.role
		}
	}
	return notCounter
}

var planPhrases = []struct {
	words string
	role  role
}{
	{"total optimization steps", plansSteps},
	{"total steps", plansSteps},
	{"total training steps", plansSteps},
	{"num steps", plansSteps},
	{"max steps", plansSteps},
	{"number of training steps", plansSteps},
	{"total iterations", plansSteps},
	{"max iterations", plansSteps},
	{"num train steps", plansSteps},
	{"total train steps", plansSteps},
	{"num epochs", plansEpochs},
	{"number of epochs", plansEpochs},
	{"max epochs", plansEpochs},
	{"total epochs", plansEpochs},
	{"steps per epoch", plansBatches},
	{"batches per epoch", plansBatches},
	{"num batches each epoch", plansBatches},
	{"iterations per epoch", plansBatches},
	{"num batches per epoch", plansBatches},
	{"total micro batches", plansBatches},
	{"num examples", plansSamples},
	{"parallel, distributed & accumulation)", plansBatchSize},
}

// trimEnd cuts spaces, separators and filling dots from the end.
func trimEnd(b []byte) []byte {
	for len(b) > 0 {
		switch b[len(b)-1] {
		case ' ', '\t', ':', '=', '.', '\'', '"':
			b = b[:len(b)-1]
			continue
		}
		break
	}
	return b
}

func endsFold(b []byte, s string) bool {
	return len(b) >= len(s) && hasFold(b[len(b)-len(s):], s)
}

// planVerb reports whether b ends in words that announce a length.
func planVerb(b []byte) bool {
	b = trimEnd(b)
	return endsFold(b, "for") || endsFold(b, "max") || endsFold(b, "total") || endsFold(b, "training")
}

func (p *plan) take(c role, v int64) {
	switch c {
	case plansSteps:
		p.total = v
	case plansEpochs:
		p.epochs = v
	case plansBatches:
		p.batches = v
	case plansSamples:
		p.samples = v
	case plansBatchSize:
		p.batchSize = v
	}
}
