// Package judge turns a case file into a verdict: which class of failure it is,
// what proves it, what follows from it, what was ruled out, and what to do. It
// is pure: the same case file gives the same verdict.
package judge

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
	onset     int64 // the step at which it began, 0 when that is step
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
	detected  bool         // a detector saw it
	early     bool         // in what a tracker recorded, before the last step
	yielded   report.Class // the class that explains it, "" if none does
	kind      report.AnomalyType
	severity  report.Severity
}

// collect lists every suspect in order: streams as they are, lines as they came,
// then the detectors.
func collect(b *failure.Book, f *casefile.File) []*suspect { return collectBut(b, f, "") }

// collectBut is collect without the detectors of one class.
func collectBut(b *failure.Book, f *casefile.File, but report.Class) []*suspect {
	no := map[*casefile.Stream]int{}
	byName := map[string]*casefile.Stream{}
	for i, s := range f.Streams {
		no[s], byName[s.Name] = i, s
	}
	end, m := outcome(f), f.Main()
	var out []*suspect
	for _, e := range f.Events {
		if e.Sign.Role != report.RoleCause && e.Sign.Role != report.RoleSymptom {
			continue
		}
		role := e.Sign.Role
		if e.Sign.Class == report.NCCL && consequence.MatchString(e.Text) {
			role = report.RoleSymptom
		}
		rank := e.Rank
		if m := ownRank.FindStringSubmatch(e.Text); rank == run.NoRank && m != nil {
			rank, _ = strconv.Atoi(m[1])
		}
		out = append(out, &suspect{
			class: e.Sign.Class, role: role, weight: e.Sign.Weight, cause: e.Sign.Cause, id: e.Sign.ID,
			says: e.Sign.Says, rank: rank, ref: e.Ref, lastRef: e.LastRef, text: e.Text, at: e.At, step: e.Step,
			stream: e.Stream, streamNo: no[e.Stream], order: e.Order, count: e.Count, trace: e.Trace,
			context: e.Context, yields: e.Sign.YieldsTo, sticky: e.Sign.Sticky, live: e.Sign.Live,
			recovered: f.Recovered(e) || !e.Sign.Sticky && end.after(e.Stream, e.Order, e.At, e.Trace != nil),
		})
	}
	for _, s := range out {
		s.recovered = s.recovered || byLimit.MatchString(s.text) && succeeded(f, s) || requeued(s) || s.noticed() && s.role == report.RoleSymptom && lastStepDone(f)
	}
	for _, c := range b.Classes {
		if c.ID == but {
			continue
		}
		for _, d := range c.Detectors {
			for _, s := range see(&d, f) {
				v := sighted(c, &d, s, no, byName)
				v.early = v.stream == nil && v.step >= 0 && m != nil && v.step < m.LastStep
				out = append(out, v)
			}
		}
	}
	return out
}

// ownRank is how ProcessGroupNCCL names the rank that speaks.
var ownRank = regexp.MustCompile(`ProcessGroup\w+\.cpp:\d+\] \[(?:PG [^\]]*)?Rank (\d+)\]`)

// requeued reports whether a row of a job table, that says how an attempt ended, is
// followed by one that says that the same job was completed.
func requeued(s *suspect) bool {
	w := strings.Fields(s.text)
	if len(w) < 3 || s.stream == nil || !jobRow.MatchString(s.text) {
		return false
	}
	for _, l := range slices.Concat(s.stream.Head, s.stream.Tail) {
		if v := strings.Fields(l.Text); l.Ref.Line > s.ref.Line && len(v) > 1 && v[0] == w[0] && slices.Contains(v[1:], "COMPLETED") {
			return true
		}
	}
	return false
}

// jobRow is a row of sacct: a job's number and its state in capitals.
var jobRow = regexp.MustCompile(`^\s*\d+(?:[_.+]\S+)?\s.*\b[A-Z]+_?[A-Z]+\b`)

// succeeded reports whether another attempt of the run began after a scheduler
// had ended this one, and failed in its own way: then that is the one to judge.
func succeeded(f *casefile.File, s *suspect) bool {
	if s.at.IsZero() {
		return false
	}
	for _, t := range f.Tracebacks {
		if t.Stream != s.stream && t.Stream.First.After(s.at) && !f.TracebackRecovered(t) {
			return true
		}
	}
	return false
}

// see runs a detector. One that fails on a log that nobody thought of must not
// take the other evidence with it: it becomes a gap.
func see(d *failure.Detector, f *casefile.File) (out []failure.Sighting) {
	defer func() {
		if r := recover(); r != nil {
			out = nil
			f.Gaps = append(f.Gaps, run.Gap{What: "what the detector " + d.Name + " looks for", Why: fmt.Sprintf("it failed: %v", r), Ask: "this log, in a report of the defect"})
		}
	}()
	return d.Run(f)
}

// consequence are the words in which a rank says that a peer went away or did not
// answer: never the reason, whatever else the line says.
var gone = regexp.MustCompile(`Connection closed by (remote )?peer|Connection reset by peer|Broken pipe|Timed out waiting \d+ ?ms for (recv|send)|remote process exited|communicator was aborted on rank`)

// consequence adds the watchdog's report, which a detector may still read more from.
var consequence = regexp.MustCompile(`Connection closed by (remote )?peer|Connection reset by peer|Broken pipe|Timed out waiting \d+ ?ms for (recv|send)|remote process exited|communicator was aborted on rank|Watchdog caught collective operation timeout`)

func sighted(c *failure.Class, d *failure.Detector, s failure.Sighting, no map[*casefile.Stream]int, byName map[string]*casefile.Stream) *suspect {
	st := byName[s.Ref.File]
	role := s.Role
	if role == "" {
		role = report.RoleCause
	}
	if c.ID == report.NCCL && gone.MatchString(s.Text) {
		role = report.RoleSymptom
	}
	v := &suspect{
		class: c.ID, role: role, weight: s.Weight, cause: s.Cause, id: d.Name, says: s.Says, rank: s.Rank,
		ref: s.Ref, lastRef: s.Ref, also: s.Also, text: s.Text, step: s.Step, onset: s.Onset, stream: st, count: 1,
		yields: s.YieldsTo, status: s.Status, recovered: s.Recovered, detected: true, kind: s.Type, severity: s.Severity,
	}
	if st != nil {
		v.streamNo = no[st]
		v.order = s.Ref.Line
	}
	return v
}

// factors are what detectors call a factor: it belongs in the report and never
// decides.
func factors(all []*suspect) []string {
	out := []string{}
	for _, s := range all {
		if s.role == report.RoleContext {
			out = append(out, s.says)
		}
	}
	return out
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
	weak   bool // printed on the way out, whatever happened
}

// outcome gathers the lines that say that the run ended well.
func outcome(f *casefile.File) ending {
	var e ending
	for _, v := range f.Events {
		switch v.Sign.Sets["run.outcome"] {
		case "completed":
			e.completed = true
			e.marks = append(e.marks, mark{v.Stream, v.Order, v.At, false})
		case "ended":
			e.marks = append(e.marks, mark{v.Stream, v.Order, v.At, true})
		}
	}
	return e
}

// after reports whether the run said that it ended well after a place. What is
// printed on the way out of an exception too does not heal one.
func (e ending) after(s *casefile.Stream, order int, at time.Time, raised bool) bool {
	for _, m := range e.marks {
		if m.weak && raised {
			continue
		}
		if m.stream == s && m.order > order {
			return true
		}
		if m.stream != s && !at.IsZero() && !m.at.IsZero() && m.at.After(at) {
			return true
		}
	}
	return false
}
