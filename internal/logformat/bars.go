package logformat

import "bytes"

// bar is one state of a progress bar.
type bar struct {
	desc, post []byte  // before the percentage; after the rate
	n, total   int64   // total is -1 when the bar has none
	rate       float64 // per second, 0 unknown
	elapsed    float64 // seconds
	unit       []byte  // what is counted, "it" by default
	rest       []byte  // what follows the bar
	drawn      drawn   // where it is drawn
	at         [4]int  // capacities from the numbers n, total, elapsed and rate on, 0 unknown
	perStep    bool    // the rate is printed as seconds a step
}

// bars remembers the bars of a stream.
type bars struct {
	seen             []barState
	inner            bool // a bar within the epochs was seen
	lastN, lastTotal int64
}

// barState is a bar by its words and total.
type barState struct {
	key    uint32
	total  int64
	last   int64
	rounds int64 // how often it was filled
	seq    int64 // of the headline it was last seen under
	global bool  // it goes on across epochs
	phase  Phase // decided once
}

// tqdm reads the bars of tqdm and what is drawn like them: Lightning, kohya,
// torchtune, Ultralytics of every version.
func (r *Reader) tqdm(l line, out *Reading) bool {
	d, ok := parseBar(l.b)
	if !ok {
		return false
	}
	s := r.barOf(d)
	says := d.says()
	out.Phase = r.barPhaseOf(says, d, s)
	r.barValues(d, out)
	r.teachBar(l.b, d, says, out)
	r.barDone(d, s, out)
	return true
}

// barDone places a bar whose values are read.
func (r *Reader) barDone(d bar, s *barState, out *Reading) {
	switch out.Phase {
	case PhaseTrain:
		r.barProgress(d, s, out)
	case PhaseEval:
		r.evaluated("")
		r.here(out)
	}
	if contains(d.rest, "{'") { // a dict printed into the bar's line
		var in Reading
		if r.transformers(line{d.rest, 0}, &in) {
			out.Values = in.Values
		}
		r.lesson.given = false
	}
	if d.n > 0 && d.total == r.bars.lastTotal {
		r.bars.lastN = d.n
	}
	if d.n > s.last {
		r.dictsAlone = 0
	}
	s.last = d.n
	if len(d.desc) == 0 {
		r.bars.lastN, r.bars.lastTotal = d.n, d.total
	}
}

// teachBar makes the bar at hand the lesson.
func (r *Reader) teachBar(b []byte, d bar, says barSays, out *Reading) {
	r.lesson.given = false
	if d.drawn.kind == noField || d.at[3] == 0 || !(d.rate > 0) || contains(d.rest, "{'") {
		return
	}
	k := &barForm{bar: d, says: says, perStep: d.perStep}
	n := len(r.values)
	if k.rated = n > 0 && d.rate > 0 && r.values[n-1].Name == "steps_per_second" && r.sources[n-1] == -1; k.rated {
		n--
	}
	r.lesson = lesson{given: true, bar: k, drawn: d.drawn, phase: out.Phase}
	r.lesson.drawn.fixedUntil = len(d.desc)
	c := &r.lesson.counts
	c.values = n
	for i := range d.at {
		c.at[i] = cap(b) - d.at[i]
	}
	r.lesson.drawn.elapsed = c.at[2]
	lrs := 0
	for _, part := range [...][]byte{d.desc, d.post} {
		ps := r.pairs(part)
		for i := range ps {
			if r.known(ps[i].key).name == "lr" {
				lrs++
			}
			if r.known(ps[i].key).name == "lr" && ps[i].val > 1e3 || ps[i].unit || ps[i].of >= 0 {
				lrs = 2
			}
		}
	}
	r.lesson.given = lrs < 2
	r.keepValues()
}

// promote makes the last bar without words the training's: a dict of training
// metrics was printed while it ran.
func (r *Reader) promote(format string) {
	b := &r.bars
	if b.lastTotal <= 0 || b.lastN >= b.lastTotal && b.lastN > 1 {
		return
	}
	for i := range b.seen {
		s := &b.seen[i]
		if s.total != b.lastTotal || s.key != descKey(nil) || s.phase == PhaseTrain {
			continue
		}
		if m := r.course.main(); m != nil && m.from >= fromBatches && m.total != s.total {
			return
		}
		s.phase, s.global = PhaseTrain, true
		r.course.report(at{from: fromSteps, step: b.lastN, total: s.total, epoch: -1, epochs: -1, quiet: true}, format, r.when(), false, -1)
	}
}

// parseBar finds a bar in the line.
func parseBar(b []byte) (bar, bool) {
	i := bytes.IndexByte(b, '%')
	for i >= 0 && !(i > 0 && isDigit(b[i-1]) && i+1 < len(b) && (b[i+1] == '|' || b[i+1] == ' ' && i+2 < len(b) && b[i+2] >= 0x80)) {
		j := bytes.IndexByte(b[i+1:], '%')
		if j < 0 {
			return bar{}, false
		}
		i += 1 + j
	}
	if i < 0 {
		return bar{}, false
	}
	d := bar{desc: descBefore(b, i), total: -1}
	rest := b[i+1:]
	if rest[0] == '|' {
		j := bytes.IndexByte(rest[1:], '|')
		if j < 0 {
			return bar{}, false
		}
		d.drawn = barDrawn(b, rest[1:1+j])
		rest = rest[j+2:]
	} else {
		for len(rest) > 0 && (rest[0] >= 0x80 || rest[0] == ' ') {
			rest = rest[1:]
		}
	}
	return d, d.numbers(skipSpace(rest))
}

func barDrawn(b, in []byte) drawn {
	for _, c := range in {
		if !barField.drawn(c) {
			return drawn{}
		}
	}
	from := cap(b) - cap(in)
	return drawn{kind: barField, from: from, to: from + len(in)}
}

// descBefore is the description before the percentage that ends at i.
func descBefore(b []byte, i int) []byte {
	for i > 0 && (isDigit(b[i-1]) || b[i-1] == ' ') {
		i--
	}
	if i > 0 && b[i-1] == ':' {
		i--
	}
	return b[:i]
}

// numbers reads "n/total [elapsed<left, rate, postfix]" and Ultralytics'
// "n/total 3.1it/s 00:01<03:25".
func (d *bar) numbers(b []byte) bool {
	n, k := integer(b)
	if k == 0 || k >= len(b) || b[k] != '/' {
		return false
	}
	t, j := integer(b[k+1:])
	if j == 0 || k+1+j < len(b) && (isWord(b[k+1+j]) || b[k+1+j] == '.') {
		return false // "1.2k/3.4k", "5.1M/10M": bytes or the like
	}
	d.n, d.total = n, t
	d.at[0], d.at[1] = cap(b), cap(b)-k-1
	b = skipSpace(b[k+1+j:])
	if len(b) == 0 || b[0] != '[' {
		d.readRate(b)
		d.rest = b
		return true
	}
	end := bytes.IndexByte(b, ']')
	if end < 0 {
		end = len(b)
	} else {
		d.rest = b[end+1:]
	}
	d.inside(b[1:end])
	return true
}

// inside reads the bracket of a tqdm bar.
func (d *bar) inside(b []byte) {
	d.elapsed = seconds(b)
	d.at[2] = cap(b)
	i := bytes.IndexByte(b, ',')
	if i < 0 {
		return
	}
	b = skipSpace(b[i+1:])
	end := bytes.IndexByte(b, ',')
	if end < 0 {
		end = len(b)
	} else {
		d.post = b[end+1:]
	}
	d.readRate(b[:end])
	d.at[3] = cap(b)
}

// readRate reads "1.2it/s", "3.4s/it" and "?it/s".
func (d *bar) readRate(b []byte) {
	v, n := number(b)
	if n == 0 && has(b, "?") {
		n = 1
	}
	if n == 0 {
		return
	}
	u := skipSpace(b[n:])
	end := 0
	for end < len(u) && !isSpace(u[end]) && u[end] != ',' && u[end] != ']' {
		end++
	}
	u = u[:end]
	switch {
	case has(u, "s/"):
		d.unit, d.perStep = u[2:], true
		if v > 0 {
			d.rate = 1 / v
		}
	case len(u) > 2 && string(u[len(u)-2:]) == "/s":
		d.unit, d.rate = u[:len(u)-2], v
	}
}

// seconds reads 1:02:03 or 02:03 at the start of b.
func seconds(b []byte) float64 {
	v, total := int64(0), int64(0)
	for {
		var n int
		v, n = integer(b)
		if n == 0 {
			return float64(total)
		}
		total = total*60 + v
		if n >= len(b) || b[n] != ':' {
			return float64(total)
		}
		b = b[n+1:]
	}
}

// barOf is the state kept for the bar.
func (r *Reader) barOf(d bar) *barState {
	k := descKey(d.desc)
	for i := range r.bars.seen {
		if s := &r.bars.seen[i]; s.key == k && s.total == d.total {
			return s
		}
	}
	if len(r.bars.seen) >= 64 {
		r.bars.seen = r.bars.seen[:copy(r.bars.seen, r.bars.seen[32:])]
	}
	r.bars.seen = append(r.bars.seen, barState{key: k, total: d.total, seq: r.head.seq})
	return &r.bars.seen[len(r.bars.seen)-1]
}

// descKey is a hash of the description without its numbers.
func descKey(b []byte) uint32 {
	h := uint32(2166136261)
	for _, c := range b {
		if isAlpha(c) {
			h = (h ^ uint32(lower(c))) * 16777619
		}
	}
	return h
}

// barValues adds what the bar's description and postfix report.
func (r *Reader) barValues(d bar, out *Reading) {
	for _, part := range [...][]byte{d.desc, d.post} {
		ps := r.pairs(part)
		for i := range ps {
			p := &ps[i]
			if len(p.key) == 0 || string(p.key) == "v_num" {
				continue
			}
			name := r.metric(part, p)
			if name == "" {
				name = r.spelled(part, p)
			}
			r.pairAt = cap(d.desc) - cap(part) + p.at
			if name != "" && out.Phase != PhaseOther {
				r.add(phased(name, out.Phase), p.val)
			}
		}
	}
	if d.rate > 0 && out.Phase == PhaseTrain && !outerBar(d.desc) {
		r.pairAt = -1
		r.add("steps_per_second", d.rate)
	}
	out.Values = r.values
}
