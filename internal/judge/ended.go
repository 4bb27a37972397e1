package judge

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// End is how a watched run ended, what says so, and how sure that is.
type End struct {
	State  report.TerminalState // StateRunning when it goes on
	Why    string
	Proven float64 // 0..1
	ByLog  bool    // only the log's words and silence say so
}

var goesOn = End{State: report.StateRunning}

// Ended says whether a watched run is over. A service, an exit code or a missing
// process decide; where only a log is seen, its last words do once it has been
// silent for two looks, or at once when there will be no other look (Pulse.Last).
// A run counts as succeeded only where something proves it.
func Ended(b *failure.Book, f *casefile.File) End {
	if e := jobEnded(f); e.State.Ended() {
		return e
	}
	code, signal := exit(f)
	switch {
	case over(f) && (code != nil || signal != nil):
		return exited(f, code, signal)
	case processEnded(f):
		return vanished(b, f)
	case f.Value(run.FactState) != "", liveJob(f) != nil:
		return goesOn // it lives, whatever its log says
	}
	if e := trackerEnded(f); e.State.Ended() {
		return e
	}
	last := f.Pulse.Last
	if !last && !fellSilent(f) {
		return goesOn
	}
	e := lastWords(b, f, last)
	e.ByLog = true
	return e
}

func jobEnded(f *casefile.File) End {
	if f.Pipeline == nil {
		return goesOn
	}
	p := f.Pipeline
	why := fmt.Sprintf("%s is %s", run.Name(p.Name), JobState(p.State))
	switch state := JobState(p.State); {
	case state == "PARTIALLY_SUCCEEDED":
		return End{State: report.StateSucceeded, Why: why + ": some of its results are there, some are not", Proven: 0.7}
	case jobEnds[state] != "":
		return End{State: jobEnds[state], Why: why, Proven: 0.95}
	}
	return goesOn
}

// exited reads how the process ended.
func exited(f *casefile.File, code *int, signal *string) End {
	if code != nil && *code == 0 && signal == nil {
		if stoppedEarly(f) {
			return End{State: report.StateEarlyStopped, Why: "early stopping ended the training and the process ended with exit code 0", Proven: 0.95}
		}
		return End{State: report.StateSucceeded, Why: "the process ended with exit code 0", Proven: 0.95}
	}
	how := "the process ended"
	if code != nil {
		how += fmt.Sprintf(" with exit code %d", *code)
	}
	if signal != nil {
		how += " by " + *signal
	}
	limit := limitOf(f)
	switch {
	case limit != report.StateRunning:
		return End{State: limit, Why: how, Proven: 0.9}
	case signal != nil && (*signal == "SIGINT" || *signal == "SIGTERM" || *signal == "SIGHUP") || code != nil && (*code == 130 || *code == 143):
		return End{State: report.StateCancelled, Why: how, Proven: 0.8}
	}
	return End{State: report.StateFailed, Why: how, Proven: 0.95}
}

// vanished judges a process that ended without anybody seeing its exit code.
func vanished(b *failure.Book, f *casefile.File) End {
	e := lastWords(b, f, true)
	if e.State.Ended() {
		return e
	}
	return End{State: report.StateFailed, Why: "the process is gone, and its log just ends: nothing says that the training was complete", Proven: 0.75}
}

// lastWords judges a run of which only the log is seen.
func lastWords(b *failure.Book, f *casefile.File, last bool) End {
	if !anyLine(f) {
		return goesOn
	}
	r := Case(b, f)
	done := completed(f) && r.RunStatus != report.Crashed
	steps, limit := lastStepDone(f), limitOf(f)
	switch {
	case limit != report.StateRunning && r.RunStatus != report.Healthy && r.RunStatus != report.Recovered:
		return End{State: limit, Why: "the log says so", Proven: 0.8}
	case r.RunStatus == report.Crashed:
		return End{State: report.StateFailed, Why: r.RootCause, Proven: r.CauseConfidence}
	case done && stoppedEarly(f):
		return End{State: report.StateEarlyStopped, Why: "the log says that early stopping ended the training", Proven: 0.85}
	case done:
		return End{State: report.StateSucceeded, Why: "the log says that the training is complete", Proven: 0.85}
	case steps && !talksOn(f) && (last || f.At.Sub(f.Pulse.Spoke) >= settles(f)):
		return End{State: report.StateSucceeded, Why: "the last planned step is done and the log is silent", Proven: 0.65}
	}
	return goesOn
}

// talksOn reports whether the log goes on long after the last step: then the step
// was not the end of it.
func talksOn(f *casefile.File) bool {
	m := f.Main()
	for _, s := range f.Logs() {
		late := s.Lines-m.LastRef.Line > farewell || !m.LastTime.IsZero() && s.Last.Sub(m.LastTime) > slowWork/3
		if s.Name == m.LastRef.File && late {
			return true
		}
	}
	return false
}

func anyLine(f *casefile.File) bool {
	return slices.ContainsFunc(f.Logs(), func(s *casefile.Stream) bool { return len(s.Tail) > 0 })
}

// lastStepDone reports whether the numbers of the log say that the last planned
// step is done.
func lastStepDone(f *casefile.File) bool {
	m := f.Main()
	return m != nil && (m.Progress().Completed || m.Progress().Total > 0 && m.Progress().Step >= m.Progress().Total)
}

// settles is how long a log must be silent after its last planned step: saving
// and a last evaluation may follow.
func settles(f *casefile.File) time.Duration {
	m := f.Main()
	for _, l := range after(f, m) {
		if slowWords.MatchString(l.Text) {
			return slowWork / 3
		}
	}
	return min(hiccup, 4*f.Pulse.Interval)
}

// farewell is how many lines a run may print after its last step or after it said
// that the training is complete: summaries, a last evaluation, an upload.
const farewell = 150

// completed reports whether the log says near its end that the training is
// complete, and training did not go on after those words.
func completed(f *casefile.File) bool {
	return slices.ContainsFunc(f.Events, func(e *casefile.Event) bool {
		return e.Sign.Sets["run.outcome"] == "completed" && !f.Recovered(e) && e.Stream.Lines-e.LastRef.Line <= farewell
	})
}

func stoppedEarly(f *casefile.File) bool {
	return slices.ContainsFunc(f.EventsOf("done-early-stopping"), func(e *casefile.Event) bool {
		return !strings.Contains(e.Text, "did not meet") && !f.Recovered(e)
	})
}

// limitOf is TIMEOUT or CANCELLED where the log says that a limit or a person
// ended the run, near its end.
func limitOf(f *casefile.File) report.TerminalState {
	for _, s := range f.Logs() {
		for _, l := range slices.Backward(s.Tail[max(0, len(s.Tail)-25):]) {
			switch {
			case !byLimit.MatchString(l.Text):
			case strings.Contains(strings.ToLower(l.Text), "limit"), strings.Contains(l.Text, "TIMEOUT"), strings.Contains(l.Text, "EXPIRED"),
				strings.Contains(l.Text, "MaxRuntime"), strings.Contains(l.Text, "Deadline"), strings.Contains(l.Text, "walltime"):
				return report.StateTimeout
			default:
				return report.StateCancelled
			}
		}
	}
	return report.StateRunning
}
