package casefile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
)

// Pulse is the rhythm of a followed run, learnt look by look. Times are those
// of the looks, unless said otherwise: a log's own clock may be in another zone.
type Pulse struct {
	Interval time.Duration // between two looks when nothing lets them wait longer; the watch sets it
	Looks    int
	Begun    time.Time // the first look
	Moved    time.Time // the last look that saw progress: a step, an evaluation, a bar, a checkpoint; before, when the log was last written
	Spoke    time.Time // the last look that saw a new line
	Beats    []Beat    // looks that saw a new step, oldest first, at most maxBeats
	Gaps     Gaps      // between steps as the looks saw them, for logs without times
	Gauges   map[string][]Gauge

	Tasked  time.Time // the last look that saw a task of a pipeline change its state
	seen    seen
	tasks   string
	memory  Memory
	forms   []string      // of the last lines, newest last
	words   int           // lines seen
	Repeats int           // looks in a row that saw new lines and no progress
	Silent  int           // looks in a row that saw no new line
	Lull    time.Duration // the longest silence that ended by a new line
	Stirred time.Time     // the last look that saw a line of a form that was not among the last ones
	Last    bool          // there will be no other look; the watch sets it
}

// Beat is where the run's own step stood at a look.
type Beat struct {
	At   time.Time // of the step's line where it has one, else of the look
	Seen time.Time // the look
	Step int64
}

// Gauge is one reading of a changing quantity, in the unit of its fact.
type Gauge struct {
	At    time.Time
	Value float64
}

const (
	maxBeats  = 128
	maxGauges = 256 // readings of one quantity
	maxKinds  = 64  // quantities
)

// seen is what moves when a run makes progress.
type seen struct {
	steps, evals, losses, checkpoints int
	lines                             int // before the first step
	last                              int64
	bars                              string
}

// beat takes what the look that was just added says of progress.
func (p *Pulse) beat(f *File, facts []run.Fact) {
	if !f.Following {
		return
	}
	p.Looks++
	p.gauge(f.At, facts)
	if tasks := taskStates(f.Pipeline); tasks != p.tasks {
		p.tasks, p.Tasked = tasks, f.At
	}
	now, words := f.progressSeen()
	if p.Looks == 1 && p.memory.N != "" && p.memory.N == now.String() {
		p.Silent, p.Repeats = p.memory.Silent, p.memory.Repeats
	} else if p.Looks == 1 {
		p.Begun, p.Moved, p.Spoke = f.At, f.lastWritten(), f.lastWritten()
	} else {
		p.Silent++
		if words != p.words {
			p.Lull = max(p.Lull, f.At.Sub(p.Spoke))
			p.Spoke, p.Silent = f.At, 0
			p.Repeats++
		}
		if now != p.seen {
			p.Moved, p.Repeats = f.At, 0
		}
	}
	if p.Looks == 1 {
		p.rebase(f.At)
	}
	p.stir(f)
	p.step(f, now)
	p.seen, p.words = now, words
}

// rebase has what came from a file or another process counted by the clock of the
// looks, which nobody sets: when the machine's own clock jumps, nothing has been
// quiet for the hours of the jump. What lies ahead (the clock was set back
// meanwhile) is now.
func (p *Pulse) rebase(now time.Time) {
	for _, t := range []*time.Time{&p.Begun, &p.Moved, &p.Spoke, &p.Stirred} {
		if !t.IsZero() {
			*t = now.Add(-max(0, now.Sub(*t)))
		}
	}
}

const maxForms = 24

// stir notes whether the last lines say something new: a heartbeat repeats
// itself but for its numbers.
func (p *Pulse) stir(f *File) {
	if p.Spoke != f.At {
		return
	}
	for _, s := range f.Logs() {
		for _, l := range s.Tail[max(0, len(s.Tail)-3):] {
			form := strings.Map(func(r rune) rune {
				if r >= '0' && r <= '9' {
					return -1
				}
				return r
			}, clip(l.Text, 120))
			if !slices.Contains(p.forms, form) {
				p.forms, p.Stirred = append(p.forms, form), f.At
			}
		}
	}
	if n := len(p.forms) - maxForms; n > 0 {
		p.forms = slices.Delete(p.forms, 0, n)
	}
}

// Memory is what a pulse has to know of the looks of an earlier process: all
// else comes from reading the run again.
type Memory struct {
	Begun, Moved, Spoke, Stirred time.Time
	Lull, Longest, Typical       time.Duration
	Gaps, Silent, Repeats        int
	N                            string // what moves with progress, as it stood
}

// Memory is what the next process has to recall.
func (p *Pulse) Memory() Memory {
	return Memory{p.Begun, p.Moved, p.Spoke, p.Stirred, p.Lull, p.Gaps.Longest, p.Gaps.Typical(), p.Gaps.N, p.Silent, p.Repeats, p.seen.String()}
}

// Recall takes what an earlier process knew; call it before the first Add.
func (p *Pulse) Recall(m Memory) {
	if m.Begun.IsZero() {
		return
	}
	p.Begun, p.Moved, p.Spoke, p.Stirred, p.Lull, p.memory = m.Begun, m.Moved, m.Spoke, m.Stirred, m.Lull, m
	p.Gaps.N, p.Gaps.Longest = m.Gaps, m.Longest
	for i := range p.Gaps.recent {
		p.Gaps.recent[i] = m.Typical
	}
}

func (s seen) String() string {
	return fmt.Sprint(s.steps, " ", s.evals, " ", s.losses, " ", s.checkpoints, " ", s.last, " ", s.lines, " ", s.bars)
}

// step notes a new step and, where lines have no time, learns how long one takes.
func (p *Pulse) step(f *File, now seen) {
	m := f.Main()
	if m == nil || now.steps == p.seen.steps && now.last == p.seen.last {
		return
	}
	b := Beat{At: m.Progress().Time, Seen: f.At, Step: m.Progress().Step}
	if b.At.IsZero() {
		b.At = f.At
	}
	if n := len(p.Beats); n > 0 {
		last := p.Beats[n-1]
		if k := now.steps - p.seen.steps; k > 0 {
			p.Gaps.add(f.At.Sub(last.Seen) / time.Duration(k))
		}
		if b.Step < last.Step || p.jumped(last, b) { // a restart, or a clock that was set: its rate is another one
			p.Beats = p.Beats[:0]
		}
	}
	if p.Beats = append(p.Beats, b); len(p.Beats) > maxBeats {
		p.Beats = slices.Delete(p.Beats, 0, len(p.Beats)-maxBeats)
	}
}

// jumped reports whether the clock of the log was set between two beats: by it
// far more time went by than between the looks, or less than none.
func (p *Pulse) jumped(a, b Beat) bool {
	log, looks := b.At.Sub(a.At), b.Seen.Sub(a.Seen)
	return log < 0 || log > 2*looks+max(p.Interval, time.Minute)
}

// progressSeen sums up what moves with progress, and counts lines.
func (f *File) progressSeen() (seen, int) {
	v := seen{last: -1}
	words := 0
	for _, s := range f.Logs() {
		words += s.orders
		for _, rank := range sortedRanks(s.Readers) {
			r := s.Readers[rank]
			v.steps += r.Advances
			v.evals += r.Evals
			if s := r.Series["loss"]; s != nil {
				v.losses += s.Count
			}
			v.last = max(v.last, r.LastStep)
		}
		v.bars += lastBar(s)
	}
	v.steps += f.record.Advances
	v.evals += f.record.Evals
	v.last = max(v.last, f.record.LastStep)
	words += f.record.count
	for _, c := range f.Checkpoints {
		if c.Complete != nil && *c.Complete {
			v.checkpoints++
		}
	}
	if v.bars == "" { // it left the last lines: that is no progress
		v.bars = f.Pulse.seen.bars
	}
	if f.Pulse.seen.steps == 0 && v.steps == 0 { // before the first step every new line is a step ahead
		v.lines = words
	}
	return v, words
}

var barCount = regexp.MustCompile(`\b(\d+(?:\.\d+)?[kMGB]?)/(\d+(?:\.\d+)?[kMGB]?)\b|(\d{1,3})%`)

// lastBar is the position of the newest bar among the last lines; a bar that is
// only drawn anew keeps its position.
func lastBar(s *Stream) string {
	for _, l := range slices.Backward(s.Tail[max(0, len(s.Tail)-3):]) {
		if !strings.ContainsAny(l.Text, "%|█") {
			continue
		}
		if m := barCount.FindString(l.Text); m != "" {
			return fmt.Sprint(l.Ref.Line, " ", m, ";")
		}
	}
	return ""
}

// lastWritten is when the logs and trackers were last written, at most the time
// of the look.
func (f *File) lastWritten() time.Time {
	last := f.record.at
	for _, s := range f.Logs() {
		if s.ModTime.After(last) {
			last = s.ModTime
		}
	}
	if last.IsZero() || last.After(f.At) {
		return f.At
	}
	return last
}

// taskStates is the state of a pipeline and of each of its tasks.
func taskStates(p *run.Pipeline) string {
	if p == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString(p.State)
	for _, t := range p.Tasks {
		b.WriteString(" " + t.Name + "=" + t.State)
	}
	return b.String()
}

// gauged are the prefixes of facts that are quantities of the run's host.
var gauged = []string{"process.", "disk.", "memory.", "host.", "gpu", "cgroup."}

// gauge remembers the quantities that this look told.
func (p *Pulse) gauge(at time.Time, facts []run.Fact) {
	for _, v := range facts {
		if !slices.ContainsFunc(gauged, func(g string) bool { return strings.HasPrefix(v.Key, g) }) {
			continue
		}
		n, err := strconv.ParseFloat(v.Value, 64)
		if err != nil || p.Gauges[v.Key] == nil && len(p.Gauges) >= maxKinds {
			continue
		}
		if p.Gauges == nil {
			p.Gauges = map[string][]Gauge{}
		}
		g := p.Gauges[v.Key]
		if len(g) >= maxGauges {
			for i := range len(g) / 2 {
				g[i] = g[2*i]
			}
			g = g[:len(g)/2]
		}
		p.Gauges[v.Key] = append(g, Gauge{at, n})
	}
}

// Gaps are the times between signs of progress.
type Gaps struct {
	N       int
	Longest time.Duration
	recent  [31]time.Duration
}

// tooLong is a gap that is no rhythm: an attempt ended and another began.
const tooLong = 2 * time.Hour

func (g *Gaps) between(before, now time.Time) {
	if !before.IsZero() && !now.IsZero() {
		g.add(now.Sub(before))
	}
}

func (g *Gaps) add(d time.Duration) {
	if d < 0 || d > tooLong {
		return
	}
	g.recent[g.N%len(g.recent)] = d
	g.N++
	g.Longest = max(g.Longest, d)
}

// Typical is the median of the newest gaps, 0 when there are none.
func (g *Gaps) Typical() time.Duration {
	n := min(g.N, len(g.recent))
	if n == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(g.recent[:n]))[n/2]
}
