package casefile

import (
	"strings"

	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/scan"
)

// finding is a sign of the line at hand; loc is where its groups are.
type finding struct {
	sign *Sign
	loc  []int
}

// events files what the signs say of the line.
func (rd *reading) events(l *lineAt) {
	if len(l.hits) == 0 {
		return
	}
	found := rd.found[:0]
	benign := false
	for i, h := range l.hits {
		if h.Pattern >= len(rd.f.matcher.signs) || hasSign(l.hits[:i], h.Pattern) {
			continue
		}
		s := rd.f.matcher.signs[h.Pattern]
		if !s.applies(rd.s.Kind) {
			continue
		}
		loc, ok := rd.f.memo.match(s, l.text, rd.order)
		if !ok || !rd.framesMatch(s, l.trace) {
			continue
		}
		benign = benign || s.Role == report.RoleBenign
		found = append(found, finding{s, loc})
	}
	rd.found = found
	for _, x := range found {
		if benign && (x.sign.Role == report.RoleCause || x.sign.Role == report.RoleSymptom) {
			continue
		}
		rd.file(x, l)
	}
}

// hasSign reports whether a pattern was hit.
func hasSign(hits []scan.Hit, sign int) bool {
	for _, h := range hits {
		if h.Pattern == sign {
			return true
		}
	}
	return false
}

func (rd *reading) framesMatch(s *Sign, t *Traceback) bool {
	if s.Frames == nil && s.NoFrames == nil {
		return true
	}
	if t == nil {
		return s.Frames == nil
	}
	return (s.Frames == nil || rd.f.memo.inFrames(t, s.Frames.Regexp())) && (s.NoFrames == nil || !rd.f.memo.inFrames(t, s.NoFrames.Regexp()))
}

// event is the event of a finding, all but its words: Text and Groups.
func (rd *reading) event(s *Sign, l *lineAt) Event {
	rd.tellTime()
	e := Event{
		Sign: s, Stream: rd.s, Rank: l.rank, Ref: l.ref, LastRef: l.ref,
		At: l.time, Step: -1, Order: rd.order, Trace: l.trace, Count: 1,
	}
	if e.At.IsZero() {
		e.At = rd.s.Last
	}
	return e
}

// file keeps an event, or counts it into one of the same stretch: same sign and
// rank, and training did not go on between them.
func (rd *reading) file(x finding, l *lineAt) {
	e := rd.event(x.sign, l)
	if e.Rank == run.NoRank && x.sign.namesRank() {
		if v, ok := group(x, l.text, "rank"); ok {
			e.Rank = num(v)
		}
	}
	if x.sign.namesRank() {
		if v, ok := group(x, l.text, "failed"); ok { // the line speaks of another rank than its own
			e.Rank = num(v)
		}
	}
	if r := rd.s.progressReader(l.rank); r != nil {
		e.Step, e.advances = r.LastStep, r.Advances
	}
	for key, value := range e.Sign.Sets {
		if name, ok := strings.CutPrefix(value, "$"); ok {
			value, _ = group(x, l.text, name)
		}
		if value != "" {
			rd.f.AddFact(run.Fact{Key: key, Value: value, From: e.Ref})
		}
	}
	k := eventKey{e.Sign, e.Rank}
	same := rd.s.lastEvent[k]
	known := e.Trace != nil && e.Trace.Known == nil && e.Sign.Role == report.RoleCause
	if n := len(same); n > 0 && !known {
		last := same[n-1]
		if !e.Sign.Each && e.advances-last.advances < healedAfter && !(e.Trace != nil && last.Trace == nil) {
			last.Count++
			last.LastRef = e.Ref
			return
		}
		if n >= e.Sign.kept() { // keep the first ones and the newest
			e.Count += last.Count
			e.pending = last.pending
			*last = e
			rd.later(last, l.index, x.loc)
			return
		}
	}
	rd.add(&e, x.loc, same, known, l)
}

// namesRank reports whether the sign's regexp tells the rank that speaks, or the
// one that it speaks of.
func (s *Sign) namesRank() bool {
	if s.Regexp == nil {
		return false
	}
	re := s.Regexp.Regexp()
	return re.SubexpIndex("rank") >= 0 || re.SubexpIndex("failed") >= 0
}

// add keeps an event with its words.
func (rd *reading) add(in *Event, loc []int, same []*Event, known bool, l *lineAt) {
	e := new(Event)
	*e = *in
	rd.words(e, l.whole, l.text, loc)
	if known {
		e.Trace.Known = e
	}
	if n := len(same); n > 0 {
		last := same[n-1]
		if !e.Sign.Each && e.advances-last.advances < healedAfter && !(e.Trace != nil && last.Trace == nil) {
			last.Count++
			last.LastRef = e.Ref
			return
		}
		if n >= e.Sign.kept() {
			e.Count += last.Count
			p := last.pending
			*last = *e
			if p > 0 {
				rd.pending[p-1].event = nil
			}
			return
		}
	}
	if !rd.f.mayFile(e.Sign) {
		return
	}
	if e.Sign.Role == report.RoleCause || e.Sign.Role == report.RoleSymptom || e.Sign.Role == report.RoleContext {
		e.Context = rd.context(l.index)
	}
	k := eventKey{e.Sign, e.Rank}
	rd.s.lastEvent[k] = append(same, e)
	rd.f.Events = append(rd.f.Events, e)
}

func (rd *reading) words(e *Event, whole, text []byte, loc []int) {
	e.Text = clipped(whole, maxText)
	e.Groups = groups(e.Sign.Regexp, text, loc)
}

// pending is an event whose words are read at the end of the block, when it is
// known that no newer one takes its place.
type pending struct {
	event *Event
	index int // of its line
	loc   []int
}

func (rd *reading) later(e *Event, index int, loc []int) {
	if e.pending == 0 {
		rd.pending = append(rd.pending, pending{})
		e.pending = len(rd.pending)
	}
	rd.pending[e.pending-1] = pending{e, index, loc}
}

// settle reads the words of the pending events.
func (rd *reading) settle() {
	for _, p := range rd.pending {
		if p.event != nil {
			r := &rd.blk.recs[p.index]
			whole := rd.blk.clean(r)
			rd.words(p.event, whole, whole[r.text:], p.loc)
			p.event.pending = 0
		}
	}
	clear(rd.pending)
	rd.pending = rd.pending[:0]
}

// group is the value of one named group of a finding; not ok where it took no part.
func group(x finding, text []byte, name string) (string, bool) {
	if x.sign.Regexp == nil {
		return "", false
	}
	i := x.sign.Regexp.Regexp().SubexpIndex(name)
	if i < 0 || x.loc[2*i] < 0 {
		return "", false
	}
	return string(text[x.loc[2*i]:x.loc[2*i+1]]), true
}

// groups are the values of the regexp's named groups.
func groups(p *Pattern, text []byte, loc []int) map[string]string {
	if p == nil {
		return nil
	}
	var out map[string]string
	for i, name := range p.Regexp().SubexpNames() {
		if name == "" || loc[2*i] < 0 {
			continue
		}
		if out == nil {
			out = map[string]string{}
		}
		out[name] = string(text[loc[2*i]:loc[2*i+1]])
	}
	return out
}
