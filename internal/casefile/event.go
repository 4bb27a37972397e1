package casefile

import (
	"regexp"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
)

// Event is one line that a sign recognised.
type Event struct {
	Sign     *Sign
	Stream   *Stream
	Rank     int
	Ref      run.Ref
	Text     string // the cleaned line, cut to maxText
	Groups   map[string]string
	At       time.Time // zero when the line has no time
	Step     int64     // the last training step before it, -1 when none
	Order    int       // position in its stream among all lines, \r lines included
	Trace    *Traceback
	Count    int // how often it came in this stretch
	LastRef  run.Ref
	Context  *Context
	advances int
	pending  int // 1 + its place among the events whose words are not read yet
}

// Evidence is one line that speaks for something.
type Evidence struct {
	Ref  run.Ref
	Rank int
	Text string
}

// Context is the text around a line.
type Context struct {
	File  string
	First int
	Lines []string
	at    int // index of the line itself
	after int // how many lines are still wanted
}

// After is what follows the line.
func (c *Context) After() []string { return c.Lines[min(c.at+1, len(c.Lines)):] }

const (
	maxText     = 2000
	maxContexts = 300
	linesBefore = 20
	linesAfter  = 20
	perKey      = 6 // events kept of one sign, rank and stream
	healedAfter = 2 // steps forward after which a failure was survived
)

type eventKey struct {
	sign *Sign
	rank int
}

// Recovered reports whether training went on after the event: on its own rank
// at least two steps forward were reported later, or, where its rank reports
// none, on the run's main reader; or whether the program was started again since.
// Of these only a new start heals a sticky sign.
func (f *File) Recovered(e *Event) bool {
	if e.Stream != nil && (f.relaunched(e.Stream, e.LastRef.Line) || f.outdone(e.Stream)) {
		return true
	}
	if e.Sign.Sticky {
		return false
	}
	if e.Trace != nil && f.survived(e.Trace) {
		return true
	}
	if (e.Trace != nil || abort.MatchString(e.Text)) && e.Stream.silent(e.Rank, e.Order) {
		return false
	}
	return !e.Stream.showsOthers(e.LastRef.Line) && f.WentOn(e.Stream, e.Rank, e.advances, e.At)
}

// silent reports whether a rank says nothing any more after a place, though
// other ranks do: launchers that tee flush late, so that the order of lines of
// different ranks proves nothing.
func (s *Stream) silent(rank, order int) bool {
	r := s.Readers[rank]
	return rank != run.NoRank && r != nil && r.lastOrder-order < 6
}

// abort are the words of a process that cannot go on.
var abort = regexp.MustCompile(`terminate called|what\(\):|core dumped|Fatal Python error|\*\*\* (Abort|SIG)`)

// WentOn reports whether training steps were reported after a place in a stream.
func (f *File) WentOn(s *Stream, rank, advances int, at time.Time) bool {
	if s == nil {
		return false
	}
	r := s.progressReader(rank)
	if r != nil {
		return r.Advances-advances >= healedAfter
	}
	if m := f.Main(); m != nil && !at.IsZero() && !m.LastTime.IsZero() {
		return m.LastTime.Sub(at) > time.Minute && m.Advances > healedAfter
	}
	return false
}

// progressReader is the reader that tells whether a rank went on: its own, else
// the one of the stream that reports most.
func (s *Stream) progressReader(rank int) *RankReader {
	if r := s.Readers[rank]; r != nil && r.reader.Readings() > 0 {
		return r
	}
	return s.most
}

// EventsOf lists the events of a sign, in order.
func (f *File) EventsOf(sign string) []*Event {
	var out []*Event
	for _, e := range f.Events {
		if e.Sign.ID == sign {
			out = append(out, e)
		}
	}
	return out
}

// Has reports whether a sign was seen.
func (f *File) Has(sign string) bool { return len(f.EventsOf(sign)) > 0 }

// Cite turns an event into evidence.
func (e *Event) Cite() Evidence { return Evidence{e.Ref, e.Rank, e.Text} }

// TextAt is the text of a line that the case file kept, or "".
func (f *File) TextAt(ref run.Ref) string {
	for _, e := range f.Events {
		if e.Ref.File == ref.File && e.Ref.Line == ref.Line {
			return e.Text
		}
	}
	for _, s := range f.Streams {
		if s.Name != ref.File {
			continue
		}
		for _, lines := range [][]Line{s.Tail, s.Head} {
			for _, l := range lines {
				if l.Ref.Line == ref.Line {
					return l.Text
				}
			}
		}
	}
	return f.record.textAt(ref)
}
