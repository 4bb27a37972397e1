package monitor

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// describe writes the lines of an update: the skill's progress line or those of
// a job, the line under it, and every fifth look or when something happened the summary.
func (w *Watch) describe(u *report.Update, was time.Duration, failed error) {
	stamp := w.place() + fmt.Sprintf("[%s] ", u.At.Format("15:04:05"))
	first := stamp + w.progress(failed)
	heading, job := w.jobLines(u.At, failed)
	alarm := ""
	if a := worst(u.Events); a != nil {
		alarm = fmt.Sprintf(" — ANOMALY: %s", a.Description)
	}
	u.Status = first + alarm
	if heading != "" {
		first = stamp + heading
	}
	first += alarm
	u.Lines = append([]string{first}, job...)
	var under []string
	if g := gpuText(w.file); g != "" {
		under = append(under, g)
	}
	if likely, low, high, ok := w.file.Left(); ok && u.End == nil {
		under = append(under, fmt.Sprintf("ETA: ~%s (%s to %s)", report.Took(likely), report.Took(low), report.Took(high)))
		u.Live.ETA = &report.Span{Seconds: likely.Seconds(), Low: low.Seconds(), High: high.Seconds()}
	}
	if u.Next > 0 {
		next := "next poll in " + seconds(u.Next)
		if w.looks > 1 && u.Next != was {
			word := "backed off"
			if u.Next < was {
				word = "reset"
			}
			next += fmt.Sprintf("  ← %s %s→%s", word, seconds(was), seconds(u.Next))
		}
		under = append(under, next)
	}
	if len(under) > 0 {
		u.Lines = append(u.Lines, "  "+strings.Join(under, " | "))
	}
	for i := range u.Events {
		if t := eventText(&u.Events[i]); t != "" {
			u.Lines = append(u.Lines, "  "+t)
		}
	}
	for i, l := range u.Lines { // one that names what is outside may have more
		u.Lines[i] = strings.ReplaceAll(l, "\n", " ")
	}
	w.live(u)
	if u.End == nil && (len(u.Events) > 0 || w.polls%summaryEvery == 0) && w.polls > 1 {
		u.Summary = w.summary(u)
	}
}

// place is what stands before the line of a run on another machine.
func (w *Watch) place() string {
	if w.kind.Place == nil {
		return ""
	}
	if host := w.kind.Place(w.ref); host != "" {
		return "[" + host + "] "
	}
	return ""
}

// worst is the gravest anomaly that an update opens or makes worse.
func worst(events []report.Event) *report.Anomaly {
	var best *report.Anomaly
	for _, e := range events {
		if (e.Kind == report.EventOpened || e.Kind == report.EventWorse) && (best == nil || e.Anomaly.Severity.Above(best.Severity)) {
			best = e.Anomaly
		}
	}
	return best
}

func eventText(e *report.Event) string {
	a := e.Anomaly
	switch {
	case a == nil && e.Kind == report.EventEnd:
		return ""
	case a == nil, e.Kind == report.EventActed:
		return e.Text
	case e.Kind == report.EventClosed:
		return fmt.Sprintf("%s recovered", a.Type)
	}
	s := fmt.Sprintf("%s (%s)", a.Type, report.SeverityTitle(a.Severity))
	if a.Ref != nil {
		s += fmt.Sprintf(" at %s: %s", run.Name(run.Ref{File: a.Ref.File, Line: a.Ref.Line}.String()), run.Quote(a.Ref.Text))
	}
	if a.Fix != "" {
		s += ". Recommended: " + a.Fix
	}
	return s
}

// progress is the step with what is known of the metrics; what is not known is
// left out.
func (w *Watch) progress(failed error) string {
	f := w.file
	parts := []string{step(f)}
	for _, m := range []struct{ name, form string }{{"loss", "loss=%s"}, {"lr", "lr=%s"}, {"grad_norm", "grad_norm=%s"}, {"accuracy", "accuracy=%s"}} {
		if s := f.Series(m.name); s != nil && s.Count > 0 {
			parts = append(parts, fmt.Sprintf(m.form, report.Short(s.Last.Value)))
		}
	}
	if r := rate(f); r != "" {
		parts = append(parts, r)
	}
	if failed != nil {
		parts = append(parts, fmt.Sprintf("this look saw nothing: %v", failed))
	} else if f.Pulse.Silent > 0 {
		parts = append(parts, "no new line for "+report.Took(f.At.Sub(f.Pulse.Spoke)))
	}
	return strings.Join(parts, " | ")
}

func step(f *casefile.File) string {
	if p := f.Pipeline; p != nil && f.Main() == nil {
		s := fmt.Sprintf("%s: %s", run.Name(p.Name), judge.JobState(p.State))
		if n := taskCounts(p); n != "" {
			s += " | Tasks: " + n
		}
		return s
	}
	m := f.Main()
	switch {
	case m == nil || m.Progress().Step < 0:
		if len(f.Logs()) == 0 {
			return "no log yet"
		}
		return "no step yet"
	case m.Progress().Total > 0:
		g := m.Progress()
		share := 100 * float64(g.Step) / float64(g.Total)
		form := "Step %d/%d (%.0f%%)"
		if share < 10 {
			form = "Step %d/%d (%.1f%%)"
		}
		return fmt.Sprintf(form, g.Step, g.Total, share)
	}
	return fmt.Sprintf("Step %d", m.Progress().Step)
}

func rate(f *casefile.File) string {
	for _, r := range []struct{ name, unit string }{{"samples_per_second", "samples/s"}, {"tokens_per_second", "tokens/s"}, {"steps_per_second", "steps/s"}} {
		if s := f.Series(r.name); s != nil && s.Count > 0 && !math.IsNaN(s.Last.Value) {
			return report.Short(s.Last.Value) + " " + r.unit
		}
	}
	if p, ok := f.Pace(); ok {
		return report.Short(p.Rate) + " steps/s"
	}
	return ""
}

// gpuText is the use of the run's GPUs where a source tells it: the mean of how
// busy they are, and the memory of the fullest.
func gpuText(f *casefile.File) string {
	util, n, used, total := 0.0, 0, "", ""
	for _, v := range f.FactsUnder(run.GPU) {
		device, ok := strings.CutSuffix(v.Key, run.GPUUtil)
		u, err := strconv.ParseFloat(v.Value, 64)
		if !ok || err != nil || f.Value(device+run.GPUOthers) != "" {
			continue
		}
		util, n = util+u, n+1
		if m := f.Value(device + run.GPUUsed); number(m) > number(used) {
			used, total = m, f.Value(device+run.GPUTotal)
		}
	}
	if n == 0 {
		return ""
	}
	s := fmt.Sprintf("GPU: %.0f%% util", util/float64(n))
	if used != "" && total != "" {
		s += fmt.Sprintf(", %s/%s MB VRAM", run.Name(used), run.Name(total))
	}
	return s
}

func number(s string) float64 {
	v, _ := strconv.ParseFloat(s, 64) // what is no number is 0
	return v
}

// summary is the watch so far in a few lines.
func (w *Watch) summary(u *report.Update) []string {
	out := []string{fmt.Sprintf("Summary after %d polls (%s): %s", w.polls, report.Took(u.At.Sub(w.started)), w.progress(nil))}
	if s := w.file.Series("loss"); s.Finite() {
		out = append(out, fmt.Sprintf("  loss: first %s, best %s at step %d, last %s", report.Short(s.First.Value), report.Short(s.Min.Value), s.Min.Step, report.Short(s.Last.Value)))
	}
	open := w.book.current()
	if len(open) == 0 {
		return append(out, "  no anomaly is open")
	}
	for _, a := range open {
		out = append(out, fmt.Sprintf("  open: %s (%s): %s", a.Type, report.SeverityTitle(a.Severity), clip(a.Description, 160)))
	}
	return out
}

const liveLosses = 60

func (w *Watch) live(u *report.Update) {
	u.Live.Step, u.Live.Total = -1, -1
	if m := w.file.Main(); m != nil {
		u.Live.Step, u.Live.Total = m.Progress().Step, m.Progress().Total
	}
	v := w.file.Series("loss").Values()
	u.Live.Loss = v[max(0, len(v)-liveLosses):]
	u.Live.Open = w.book.current()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%ds", int(math.Round(d.Seconds()))) }

func clip(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	return string(r[:n-1]) + "…"
}
