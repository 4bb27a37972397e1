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

// planOp is what a pair's words make of its number.
type planOp struct {
	takes     role // the plan that the number is, notCounter for none
	ofTotal   bool // "step 0 of 200000": the M is the total
	total     bool // the number is the total
	samples   bool
	epochsOf  bool // "8 of 60 epochs": the M is the number of epochs
	epochs    bool
	perEpochs bool // the number is that of batches in an epoch
}

func (r *Reader) planPair(b []byte, p *pair) {
	if p.unit || p.val < 1 && p.of < 1 || p.val != float64(int64(p.val)) {
		return
	}
	r.plan.read(r.planOf(b, p), p.val, p.of)
}

// planOf is what the words around the pair say; what the number is does not matter.
func (r *Reader) planOf(b []byte, p *pair) (op planOp) {
	if len(p.key) > 0 {
		k := r.known(p.key).role
		c := k
		if c == countsGlobal && (hasFold(p.key, "total_timesteps") || hasFold(p.key, "total-timesteps") || hasFold(p.key, "total_steps")) {
			c = plansSteps
		}
		if c == notCounter || c == countsSteps || c == countsBatches || c == countsOther {
			c = phrasePlan(b[:p.at])
		}
		if c.planned() && !(c == plansBatches && evalWords(b[:p.at])) {
			op.takes = c
		}
		op.ofTotal = k == countsSteps && contains(b[p.at:p.end], " of ") // "starting at step 0 of 200000"
		op.total = k == countsSteps && p.sep != ' ' && p.of < 0 && hasFold(p.key, "iterations")
	}
	switch rest := skipSpace(b[p.end:]); {
	case hasFold(rest, "samples") && has(skipSpace(b), "Train on"):
		op.samples = true
	case hasFold(rest, "epochs"):
		op.epochsOf = p.of >= 0 // "after 8 of 60 epochs"
		op.epochs = (len(rest) == 6 || !isWord(rest[6])) && planVerb(b[:p.at])
	case hasFold(rest, "steps per epoch"), hasFold(rest, "iterations per epoch"), hasFold(rest, "batches per epoch"):
		op.perEpochs = true
	}
	return op
}

// planned reports whether a role is one of a plan.
func (k role) planned() bool {
	return k == plansSteps || k == plansEpochs || k == plansBatches || k == plansSamples || k == plansBatchSize
}

// read takes the number that an op is about, and the M beside it.
func (p *plan) read(op planOp, val, of float64) {
	if val < 1 && of < 1 || val != float64(int64(val)) || val > 1e12 {
		return
	}
	v := int64(val)
	if v > 0 && !(p.aside && (op.takes == plansSamples || op.takes == plansBatchSize)) {
		p.take(op.takes, v)
	}
	switch {
	case op.ofTotal && of >= 1:
		p.total = int64(of)
	case op.total:
		p.total = v
	}
	switch {
	case op.samples:
		p.samples = v
	case op.epochsOf && of >= 1:
		p.epochs = int64(of)
	case op.epochs:
		p.epochs = v
	case op.perEpochs:
		p.batches = v
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
