package judge

import (
	"fmt"
	"regexp"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// acquit writes the verdict when nothing that was seen stays unhealed: none, or
// unknown where the run should have gone on and nobody says why it did not.
func acquit(b *failure.Book, f *casefile.File, all []*suspect) Ruling {
	r := Ruling{Verdict: report.NewVerdict(), Decision: report.Go, Onset: -1}
	r.Framework = f.Framework
	r.ExitCode, r.Signal = exit(f)
	book := &references{}
	if why, e := unexplained(f); why != "" {
		r.PrimaryCause, r.RunStatus, r.CauseConfidence = report.Unknown, report.Crashed, 0.3
		r.RootCause, r.ProximateCause = why, why
		r.Decision = report.NoGo
		if e.Ref.File != "" {
			book.add(e.Ref, e.Rank, -1, report.RoleSymptom, e.Text)
			r.Proof = e
		}
		r.MissingEvidence = append(missing(f), ask(f))
	} else {
		r.PrimaryCause, r.RunStatus, r.CauseConfidence = report.None, report.Healthy, 0.5
		if outcome(f).completed {
			r.CauseConfidence = 0.9
		}
		r.RootCause = "Nothing in what was read says that the run failed."
		if alive(f) || heard(f) {
			r.RunStatus = report.Running
		}
		for _, s := range all {
			if s.role != report.RoleContext && s.recovered && s.weight >= 0.6 && s.class != report.NaNInf && s.class != report.Divergence {
				r.RunStatus = report.Recovered
				r.RootCause = fmt.Sprintf("A failure (%s: %s) was survived: training went on afterwards.", s.class, s.says)
				book.add(s.ref, s.rank, s.step, report.RoleContext, s.text)
				break
			}
		}
		r.MissingEvidence = missing(f)
		if half := halfSeen(f); half != nil {
			r.CauseConfidence = 0.3
			r.RootCause = "Nothing in what was read says that the run failed, but " + half.Why + "."
			r.MissingEvidence = append(r.MissingEvidence, *half)
		}
	}
	r.ContributingFactors = factors(all)
	r.RuledOut = ruledOut(b, nil, all, book)
	r.EvidenceRefs, r.Evidence = book.refs, book.lines()
	if r.EvidenceRefs == nil {
		r.EvidenceRefs = []report.EvidenceRef{}
	}
	return r
}

// alive reports whether the run's process or job was seen and has not ended.
func alive(f *casefile.File) bool {
	if p := liveJob(f); p != nil {
		return jobEnds[JobState(p.State)] == ""
	}
	switch f.Value(run.FactState) {
	case "", "Z", run.ProcessGone:
		return false
	}
	return true
}

// unexplained says why the run cannot be called healthy although no class fits.
func unexplained(f *casefile.File) (string, casefile.Evidence) {
	end := outcome(f)
	for _, t := range f.Tracebacks {
		if t.Later == nil && !f.TracebackRecovered(t) && !end.after(t.Stream, t.Order, t.At, true) && lastWord(t) {
			return fmt.Sprintf("The run ended with %s, which no known kind of failure explains.", t.Type),
				casefile.Evidence{Ref: t.Ref, Rank: t.Rank, Text: t.Type + ": " + t.Message}
		}
	}
	if v, ok := f.Fact("exit.code"); ok && v.Value != "0" && v.Value != "" {
		return fmt.Sprintf("The process ended with exit code %s and nothing that was read says why.", run.Name(v.Value)),
			casefile.Evidence{Ref: v.From, Rank: -1, Text: "exit code " + v.Value}
	}
	if processEnded(f) && !end.completed && !lastStepDone(f) {
		l, _ := lastLine(f)
		return "The process is gone, and its log just ends: nothing that was read says why.", casefile.Evidence{Ref: l.Ref, Rank: l.Rank, Text: l.Text}
	}
	if l, ok := errorAtTheEnd(f); ok && !end.completed {
		return "The log ends with an error that no known kind of failure explains.", casefile.Evidence{Ref: l.Ref, Rank: l.Rank, Text: l.Text}
	}
	if why := givenUp(f); why != "" {
		claim, _ := f.Fact(run.FactTrackerState)
		return why, casefile.Evidence{Ref: claim.From, Rank: -1, Text: "state " + claim.Value}
	}
	lines := 0
	for _, s := range f.Streams {
		lines += len(s.Head)
	}
	if lines == 0 && len(f.Facts) == 0 {
		return "There is nothing to read: the log is empty.", casefile.Evidence{}
	}
	return "", casefile.Evidence{}
}

// lastWord reports whether a traceback stands near the end of its stream.
func lastWord(t *casefile.Traceback) bool {
	if len(t.Stream.Tail) == 0 {
		return true
	}
	return t.Ref.Line >= t.Stream.Tail[0].Ref.Line
}

// ask is the smallest thing that would help.
func ask(f *casefile.File) report.MissingEvidence {
	if len(f.Logs()) == 0 || f.Main() == nil {
		return report.MissingEvidence{What: "the complete log", Why: "what was read does not show what the run did", Ask: "the whole standard output and error of the run, from its first line"}
	}
	return report.MissingEvidence{What: "why the process ended", Why: "the log does not say", Ask: "the exit code, and the kernel log of the time of death (dmesg -T | tail -n 50)"}
}

// halfSeen says what is missing where the end of the log was not seen, or no
// line of it was understood; nil when neither is so.
func halfSeen(f *casefile.File) *report.MissingEvidence {
	for _, s := range f.Logs() {
		if s.Err != nil {
			return &report.MissingEvidence{What: "the end of " + run.Name(s.Name), Why: "the file breaks off before its end", Ask: "a complete copy of the file"}
		}
	}
	if f.Main() == nil && len(f.Events) == 0 && len(f.Tracebacks) == 0 && len(f.Facts) == 0 && len(f.AllSeries()) == 0 {
		return &report.MissingEvidence{What: "the run's own log", Why: "no line of what was read is of a form that training programs print", Ask: "the standard output and error of the training process, from its first line"}
	}
	return nil
}

// errorAtTheEnd finds an exception's or a fatal error's own line among the last
// words of the log that trained, or of the only one.
func errorAtTheEnd(f *casefile.File) (casefile.Line, bool) {
	for _, s := range f.Logs() {
		if len(f.Logs()) > 1 && f.Main() != nil && f.Main().LastRef.File != s.Name {
			continue
		}
		for _, l := range s.Tail[max(0, len(s.Tail)-3):] {
			if lastError.MatchString(l.Text) {
				return l, true
			}
		}
	}
	return casefile.Line{}, false
}

var lastError = regexp.MustCompile(`(^|\s)([a-z_][\w.]*\.)?[A-Z]\w*(Error|Exception): \S|(?i:\bfatal error\b: )|^(FATAL|CRITICAL)[: ]`)
