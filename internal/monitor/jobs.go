package monitor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// jobLines are the lines of a job that a service runs, as the skill has them for
// Vertex AI: which one it is, and what is known of it; none for a run that no
// service named.
func (w *Watch) jobLines(at time.Time, failed error) (heading string, under []string) {
	p := w.file.Pipeline
	if p == nil || p.Resource == "" {
		return "", nil
	}
	kind := "Custom job"
	if p.Kind == "pipeline" {
		kind = "Pipeline"
	}
	heading = fmt.Sprintf("%s: %s (%s)", kind, run.Name(p.Name), run.Name(p.Resource))
	state := []string{"State: " + judge.JobState(p.State)}
	switch {
	case p.Start.IsZero():
	case p.End.IsZero():
		state = append(state, "Elapsed: "+report.Took(at.Sub(p.Start)))
	default:
		state = append(state, "Duration: "+report.Took(p.End.Sub(p.Start)))
	}
	if p.Machine != "" {
		state = append(state, "Worker: "+p.Machine)
	}
	if failed != nil {
		state = append(state, fmt.Sprintf("this look saw nothing: %v", failed))
	}
	under = append(under, "  "+strings.Join(state, " | "))
	if n := taskCounts(p); n != "" {
		under = append(under, "  Tasks: "+n)
	}
	under = append(under, running(p, at)...)
	if l := w.recent(); l != "" {
		under = append(under, "  Recent logs: "+l)
	}
	return heading, under
}

const mostRunning = 3 // tasks with a line of their own

// running says since when the tasks at work are at it.
func running(p *run.Pipeline, at time.Time) []string {
	var out []string
	for _, t := range p.Tasks {
		if judge.JobState(t.State) != "RUNNING" || t.Group || t.Start.IsZero() || len(out) == mostRunning {
			continue
		}
		l := fmt.Sprintf("  Running task: %s — started %s ago", run.Name(t.Name), report.Took(at.Sub(t.Start)))
		if n := len(t.Earlier); n > 0 {
			l += fmt.Sprintf(" (attempt %d)", n+1)
		}
		out = append(out, l)
	}
	return out
}

// stamped is the time before a line of Cloud Logging.
var stamped = regexp.MustCompile(`^\d{4}-\d\d-\d\dT[\d:.]+Z `)

// recent is the progress that the log tells, or its last line.
func (w *Watch) recent() string {
	if m := w.file.Main(); m != nil && m.Progress().Step >= 0 {
		return w.progress(nil)
	}
	var last string
	var at time.Time
	for _, s := range w.file.Logs() {
		if n := len(s.Tail); n > 0 && !strings.HasPrefix(s.Tail[n-1].Text, "{") && !s.Tail[n-1].Time.Before(at) {
			last, at = s.Tail[n-1].Text, s.Tail[n-1].Time
		}
	}
	if last = strings.TrimSpace(stamped.ReplaceAllString(last, "")); last == "" {
		return ""
	}
	return run.Quote(clip(last, 120))
}

// order is how the states of tasks are listed; others follow.
var order = []string{"SUCCEEDED", "SKIPPED", "FAILED", "CANCELLED", "RUNNING", "CANCELLING", "PENDING", "NOT_TRIGGERED"}

// taskCounts counts the tasks of each state. Those that were never triggered
// stand behind the one that failed.
func taskCounts(p *run.Pipeline) string {
	names := map[string][]string{}
	states := slices.Clone(order)
	for _, t := range p.Tasks {
		s := judge.JobState(t.State)
		if names[s] = append(names[s], run.Name(t.Name)); !slices.Contains(states, s) {
			states = append(states, s)
		}
	}
	var out []string
	for _, s := range states {
		if len(names[s]) == 0 {
			continue
		}
		t := fmt.Sprintf("%d %s", len(names[s]), s)
		switch s {
		case "RUNNING", "FAILED":
			t += " (" + clip(strings.Join(names[s], ", "), 80) + ")"
		case "SKIPPED":
			t += " (cached)"
		case "NOT_TRIGGERED":
			if f := p.Failed(); len(f) > 0 {
				t += " behind " + run.Name(f[0].Name)
			}
		}
		out = append(out, t)
	}
	return strings.Join(out, ", ")
}

const mostChanges = 5 // that one event tells

// changes says which states changed between two looks.
func changes(before, after position) string {
	was := map[string]string{}
	for l := range strings.SplitSeq(before.state, "\n") {
		name, state, _ := strings.Cut(l, "=")
		was[name] = state
	}
	var out []string
	never := 0
	for l := range strings.SplitSeq(after.state, "\n") {
		name, state, _ := strings.Cut(l, "=")
		switch old, known := was[name]; {
		case old != state && state == "NOT_TRIGGERED":
			never++
		case !known || old == "":
			out = append(out, name+": "+state)
		case old != state:
			out = append(out, fmt.Sprintf("%s: %s → %s", name, old, state))
		}
	}
	if n := len(out) - mostChanges; n > 0 {
		out = append(out[:mostChanges], fmt.Sprintf("and %d more", n))
	}
	if never > 0 {
		out = append(out, fmt.Sprintf("%d tasks: NOT_TRIGGERED", never))
	}
	return strings.Join(out, "; ")
}
