package logformat

import "time"

// source is how a position was told, from the weakest to the strongest.
type source uint8

const (
	fromEpochs   source = iota // nothing but epochs
	fromFraction               // a fraction of an epoch times the plan
	fromBatches                // epoch and batch
	fromSteps                  // a step or iteration
	fromGlobal                 // what the log itself calls global
)

// at is a position in global steps. -1 is unknown.
type at struct {
	from          source
	step, total   int64
	epoch, epochs float64
	begins        bool // a bar at nothing done: counting begins here
	quiet         bool // a position told in passing, not by a training line
}

// track is one counter of a log: what has the same kind and total is the same.
type track struct {
	at
	high      int64
	low, lows int64 // the last of lower readings that may be a restart, and how many
	lowFirst  int64
	first     int // order of the first and the last reading
	last      int
	n         int
	rewound   int64
	format    string
	when      time.Time
}

const maxTracks = 8

// course is where training is and was: the counters of a log, of which one is
// the training's own.
type course struct {
	tracks    []track
	seq       int
	n         int
	completed bool
	resumed   bool
	rounds    map[string]*rounds
}

func (c *course) reset() { c.rounds = map[string]*rounds{} }

// report takes one position; restart says that the log spoke of resuming since
// the last one, from the step restored if that is known.
func (c *course) report(a at, format string, when time.Time, restart bool, restored int64) {
	if a.step < 0 {
		return
	}
	c.seq++
	t := c.find(a)
	if t == nil {
		t = c.add(a, restart && restored > 0)
	}
	t.last = c.seq
	t.n++
	t.take(a, restart, restored)
	t.format = format
	if !when.IsZero() {
		t.when = when
	}
	if !a.quiet {
		c.n++
	}
	if t.total <= 0 || t.step < t.total {
		c.completed = false
	}
}

// find is the track that the position belongs to.
func (c *course) find(a at) *track {
	for i := range c.tracks {
		t := &c.tracks[i]
		if (t.from == fromEpochs) != (a.from == fromEpochs) {
			continue
		}
		if t.total == a.total {
			return t
		}
	}
	for i := len(c.tracks) - 1; i >= 0; i-- { // the total became known, or is left out
		t := &c.tracks[i]
		if (t.from == fromEpochs) != (a.from == fromEpochs) {
			continue
		}
		if t.total < 0 && a.total > 0 && a.step >= t.step && t.from == a.from {
			t.total = a.total
			return t
		}
		if a.total < 0 && t.total > 0 && a.step <= t.total && a.step >= t.step && t.last == c.lastSeq() {
			return t
		}
	}
	return nil
}

func (c *course) lastSeq() int { return c.seq - 1 }

// add begins a track, in the place of the least told one when there are many.
func (c *course) add(a at, resumed bool) *track {
	n := track{at: a, first: c.seq, rewound: -1, high: -1}
	n.step = -1
	c.resumed = c.resumed || resumed
	if len(c.tracks) < maxTracks {
		c.tracks = append(c.tracks, n)
		return &c.tracks[len(c.tracks)-1]
	}
	w := &c.tracks[0]
	for i := range c.tracks {
		if c.tracks[i].n < w.n {
			w = &c.tracks[i]
		}
	}
	*w = n
	return w
}

// take moves the track on. A lower step is a restart when the log says so or
// when counting goes on from there; the lines of several ranks in one stream
// may come out of order.
func (t *track) take(a at, restart bool, restored int64) {
	t.from = max(t.from, a.from)
	if a.epochs > 0 {
		t.epochs = a.epochs
	}
	if a.step >= t.step {
		t.move(a)
		return
	}
	if t.lows == 0 || a.step < t.lowFirst {
		t.lowFirst, t.low, t.lows = a.step, a.step, 1
	} else if a.step > t.low {
		t.low = a.step
		t.lows++
	}
	if !restart && !a.begins && t.lows < 3 {
		return
	}
	t.rewound = t.lowFirst
	if restart && restored >= 0 && restored <= t.lowFirst {
		t.rewound = restored
	}
	t.move(a)
	t.high = a.step
}

func (t *track) move(a at) {
	t.step, t.lows = a.step, 0
	t.high = max(t.high, a.step)
	if a.epoch >= 0 {
		t.epoch = a.epoch
	}
}

// main is the track of the training: the last one told, unless another runs
// beside it that is told better or more often.
func (c *course) main() *track {
	var m *track
	for i := range c.tracks {
		t := &c.tracks[i]
		if m == nil || (m.from == fromEpochs) == (t.from == fromEpochs) && t.last > m.last || m.from == fromEpochs && t.from > fromEpochs {
			m = t // epochs beside steps only repeat them
		}
	}
	for i := range c.tracks {
		t := &c.tracks[i]
		if t != m && t.beats(m) {
			m = t
		}
	}
	return m
}

// beats reports whether t, which was told before m was, is the better counter.
func (t *track) beats(m *track) bool {
	beside := t.last > m.first && m.last > t.first
	switch {
	case t.from == fromEpochs:
		return false
	case !beside:
		return m.n < 3 && t.n > 10*m.n && m.from < fromSteps
	case t.from != m.from && min(t.n, m.n) >= 2:
		return t.from > m.from
	}
	return t.n > m.n
}

// step is the step where training stands, -1 before the first.
func (c *course) step() (int64, int64) {
	if m := c.main(); m != nil {
		return m.step, m.total
	}
	return -1, -1
}

// progress is the course so far in the words of the contract.
func (c *course) progress(p *plan) Progress {
	out := Progress{Step: -1, Total: p.total, Epoch: -1, Epochs: -1, RewoundTo: -1, Readings: c.n, Resumed: c.resumed, Completed: c.completed}
	if p.epochs > 0 {
		out.Epochs = float64(p.epochs)
	}
	m := c.main()
	if m == nil {
		out.Total = p.whole()
		return out
	}
	out.Step, out.Epoch, out.Time, out.Format, out.RewoundTo = m.step, m.epoch, m.when, m.format, m.rewound
	out.Resumed = out.Resumed || m.rewound > 0
	if m.epochs > 0 {
		out.Epochs = m.epochs
	}
	out.Total = m.total
	if m.from == fromEpochs && c.n == 0 && m.step == 0 {
		out.Total = p.whole() // an epoch was announced, and nothing but steps would tell more
		return out
	}
	if out.Total < 0 {
		out.Total = c.planned(p, m)
	}
	if out.Total > 0 && m.step >= out.Total {
		out.Completed = true
	}
	return out
}

// planned is the total that the plan gives to a track that states none.
func (c *course) planned(p *plan, m *track) int64 {
	if m.from == fromEpochs {
		return p.epochs
	}
	if p.total >= m.step {
		return p.total
	}
	if per := c.perEpoch(m.format); per > 0 && p.epochs > 0 && per*p.epochs >= m.step {
		return per * p.epochs
	}
	if w := p.epochs * p.batches; p.epochs > 0 && w >= m.step {
		return w
	}
	return -1
}

// stamp gives the track last told the time of its line.
func (c *course) stamp(t time.Time) {
	if t.IsZero() {
		return
	}
	for i := range c.tracks {
		if c.tracks[i].last == c.seq {
			c.tracks[i].when = t
		}
	}
}

func (c *course) perEpoch(format string) int64 {
	if o := c.rounds[format]; o != nil {
		return o.batches
	}
	return -1
}
