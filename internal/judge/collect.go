// Package judge turns a case file into a verdict: which class of failure it is,
// what proves it, what follows from it, what was ruled out, and what to do. It
// is pure: the same case file gives the same verdict.
package judge

import (
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// suspect is one thing that speaks for a class: an event of a signature or what
// a detector saw.
type suspect struct {
	class     report.Class
	role      report.Role
	weight    float64
	cause     string
	id        string // of the signature or the detector
	says      string
	rank      int
	ref       run.Ref
	lastRef   run.Ref
	also      []run.Ref
	text      string
	at        time.Time
	step      int64
	stream    *casefile.Stream
	streamNo  int
	order     int
	count     int
	trace     *casefile.Traceback
	context   *casefile.Context
	yields    []report.Class
	status    report.RunStatus
	recovered bool
	sticky    bool
	live      bool
	yielded   report.Class // the class that explains it, "" if none does
}

// collect lists every suspect in order: streams as they are, lines as they came,
// then the detectors.
func collect(b *failure.Book, f *casefile.File) []*suspect {
	no := map[*casefile.Stream]int{}
	byName := map[string]*casefile.Stream{}
	for i, s := range f.Streams {
		no[s], byName[s.Name] = i, s
	}
	end := outcome(f)
	var out []*suspect
	for _, e := range f.Events {
		if e.Sign.Role != report.RoleCause && e.Sign.Role != report.RoleSymptom {
			continue
		}
		out = append(out, &suspect{
			class: e.Sign.Class, role: e.Sign.Role, weight: e.Sign.Weight, cause: e.Sign.Cause, id: e.Sign.ID,
			says: e.Sign.Says, rank: e.Rank, ref: e.Ref, lastRef: e.LastRef, text: e.Text, at: e.At, step: e.Step,
			stream: e.Stream, streamNo: no[e.Stream], order: e.Order, count: e.Count, trace: e.Trace,
			context: e.Context, yields: e.Sign.YieldsTo, sticky: e.Sign.Sticky, live: e.Sign.Live,
			recovered: f.Recovered(e) || !e.Sign.Sticky && end.after(e.Stream, e.Order, e.At),
		})
	}
	for _, c := range b.Classes {
		for _, d := range c.Detectors {
			for _, s := range d.Run(f) {
				out = append(out, sighted(c, &d, s, no, byName))
			}
		}
	}
	return out
}

func sighted(c *failure.Class, d *failure.Detector, s failure.Sighting, no map[*casefile.Stream]int, byName map[string]*casefile.Stream) *suspect {
	st := byName[s.Ref.File]
	role := s.Role
	if role == "" {
		role = report.RoleCause
	}
	v := &suspect{
		class: c.ID, role: role, weight: s.Weight, cause: s.Cause, id: d.Name, says: s.Says, rank: s.Rank,
		ref: s.Ref, lastRef: s.Ref, also: s.Also, text: s.Text, step: s.Step, stream: st, count: 1,
		yields: s.YieldsTo, status: s.Status, recovered: s.Recovered,
	}
	if st != nil {
		v.streamNo = no[st]
		v.order = s.Ref.Line
	}
	return v
}

// ending is how the run's own words say that it ended.
type ending struct {
	completed bool
	marks     []mark
}

type mark struct {
	stream *casefile.Stream
	order  int
	at     time.Time
}

// outcome gathers the lines that say that the run ended well.
func outcome(f *casefile.File) ending {
	var e ending
	for _, v := range f.Events {
		if v.Sign.Sets["run.outcome"] == "completed" {
			e.completed = true
			e.marks = append(e.marks, mark{v.Stream, v.Order, v.At})
		}
	}
	return e
}

// after reports whether the run said that it ended well after a place.
func (e ending) after(s *casefile.Stream, order int, at time.Time) bool {
	for _, m := range e.marks {
		if m.stream == s && m.order > order {
			return true
		}
		if m.stream != s && !at.IsZero() && !m.at.IsZero() && m.at.After(at) {
			return true
		}
	}
	return false
}
