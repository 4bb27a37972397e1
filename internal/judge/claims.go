package judge

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// A tracker hears from a run every half minute or so; W&B itself calls a run
// crashed after five minutes without.
const (
	trackerDeaf  = 10 * time.Minute // so old a heartbeat is none
	trackerHears = 3 * time.Minute  // and one not older than this is one
)

// tracker is what an experiment tracker claims of the run.
type tracker struct {
	name, state string
	beat        time.Time // when it last heard from the run; zero when it does not say
	age         time.Duration
}

// trackerOf is the claim of the run's tracker; not ok when there is none.
func trackerOf(f *casefile.File) (tracker, bool) {
	t := tracker{name: cmp.Or(f.Value(run.FactTracker), "the tracker"), state: strings.ToLower(f.Value(run.FactTrackerState))}
	if at, err := time.Parse(time.RFC3339, f.Value(run.FactTrackerBeat)); err == nil {
		t.beat, t.age = at, f.At.Sub(at)
	}
	if f.Value(run.FactTracker) != "" {
		t.name = run.Name(t.name)
	}
	return t, t.state != ""
}

// deaf reports whether the tracker calls a run running that it hears nothing of.
func (t tracker) deaf() bool { return t.state == "running" && !t.beat.IsZero() && t.age > trackerDeaf }

// wrong reports whether the tracker has given up a run that goes on.
func (t tracker) wrong(f *casefile.File) bool {
	return t.state == "crashed" && (!t.beat.IsZero() && t.age < trackerHears || alive(f))
}

// heard reports whether the service of the run's tracker hears from it now.
func heard(f *casefile.File) bool {
	t, ok := trackerOf(f)
	claim, _ := f.Fact(run.FactTrackerState)
	return ok && claim.From.File == "" && (!t.beat.IsZero() && t.age < trackerDeaf && (t.state == "running" || t.wrong(f)) || t.records(f))
}

// silent says since when the tracker has heard nothing.
func (t tracker) silent() string {
	return fmt.Sprintf("its last heartbeat, of %s, is %s old", t.beat.UTC().Format(time.RFC3339), age(t.age))
}

func age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%d hours", int(d.Hours()))
	case d >= 2*time.Minute:
		return fmt.Sprintf("%d minutes", int(d.Minutes()))
	}
	return fmt.Sprintf("%d s", int(d.Seconds()))
}

// contradicted says where the tracker's claim does not agree with the rest, "" if
// it does. crashed is what the verdict says.
func contradicted(f *casefile.File, crashed bool) string {
	t, ok := trackerOf(f)
	if !ok {
		return ""
	}
	end := outcome(f)
	switch {
	case t.deaf():
		return fmt.Sprintf("%s still calls the run running, but %s: it was killed, or its machine is cut off", t.name, t.silent())
	case t.overdue(f) != "":
		return fmt.Sprintf("%s still calls the run running, but %s: it was killed, or it hangs", t.name, t.overdue(f))
	case t.wrong(f) && alive(f):
		return fmt.Sprintf("%s calls the run crashed, but its process lives: the connection was lost, not the run", t.name)
	case t.wrong(f):
		return fmt.Sprintf("%s calls the run crashed, but heard from it %s ago: it goes on", t.name, age(t.age))
	case (t.state == "crashed" || t.state == "failed") && end.completed && !crashed:
		return fmt.Sprintf("%s calls the run %s, but its log says that the training is complete", t.name, t.state)
	case (t.state == "finished" || t.state == "running") && crashed:
		return fmt.Sprintf("%s calls the run %s, but what was read says that it crashed", t.name, t.state)
	case t.state == "running" && processEnded(f):
		return fmt.Sprintf("%s still calls the run running, but its process is gone", t.name)
	}
	return ""
}

// givenUp is why a run that only its tracker gave up cannot be called healthy.
func givenUp(f *casefile.File) string {
	t, ok := trackerOf(f)
	switch {
	case !ok || t.wrong(f) || outcome(f).completed:
		return ""
	case t.deaf():
		return fmt.Sprintf("%s still calls the run running, but %s. Nothing that was read says why it fell silent.", t.name, t.silent())
	case t.overdue(f) != "":
		return fmt.Sprintf("%s still calls the run running, but %s. Nothing that was read says whether it was killed or hangs.", t.name, t.overdue(f))
	case t.state == "crashed" && !t.beat.IsZero():
		return fmt.Sprintf("%s calls the run crashed, which means that its heartbeats stopped: %s. Nothing that was read says why.", t.name, t.silent())
	case t.state == "crashed", t.state == "failed":
		return fmt.Sprintf("%s calls the run %s, and nothing that was read says why.", t.name, t.state)
	case t.state == "killed":
		return fmt.Sprintf("%s calls the run killed: it was stopped before it could finish, and nothing that was read says by whom.", t.name)
	}
	return ""
}

// compare adds what does not agree with the tracker's claim to a verdict.
func compare(f *casefile.File, v *report.Verdict) {
	if says := contradicted(f, v.RunStatus == report.Crashed && v.PrimaryCause != report.Unknown); says != "" {
		v.ContributingFactors = append(v.ContributingFactors, says)
	}
}

// trackerEnded judges a watched run by the word of its tracker's service.
func trackerEnded(f *casefile.File) End {
	t, ok := trackerOf(f)
	claim, _ := f.Fact(run.FactTrackerState)
	if !ok || claim.From.File != "" || t.wrong(f) {
		return goesOn
	}
	why := fmt.Sprintf("%s calls the run %s", t.name, run.Name(t.state))
	switch {
	case t.state == "finished":
		return End{State: report.StateSucceeded, Why: why, Proven: 0.85}
	case t.state == "failed":
		return End{State: report.StateFailed, Why: why, Proven: 0.9}
	case t.state == "killed":
		return End{State: report.StateCancelled, Why: why, Proven: 0.8}
	case t.state == "crashed" && !outcome(f).completed:
		return End{State: report.StateFailed, Why: why + ": its heartbeats stopped", Proven: 0.65}
	case t.deaf():
		return End{State: report.StateFailed, Why: fmt.Sprintf("%s still calls the run running, but %s", t.name, t.silent()), Proven: 0.6}
	}
	return goesOn
}
