package monitor

import (
	"fmt"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

const maxFinal = 60 // metrics

// finish writes the report of a watch.
func (w *Watch) finish(at time.Time, end judge.End, reason string) *report.WatchReport {
	r := report.NewWatchReport()
	r.RunID, r.Target, r.TargetType = w.req.RunID, w.req.Target, w.kind.Type
	r.Timestamp = at.UTC().Format(time.RFC3339)
	r.DurationSeconds = max(0, at.Sub(w.started).Seconds())
	r.TerminalState, r.StopReason, r.Polls = end.State, reason, w.polls
	r.Confidence = report.InWords(end.Proven)
	if end.State == report.StateRunning {
		r.Confidence = report.ConfidenceMedium
	}
	if m := w.file.Main(); m != nil {
		g := m.Progress()
		r.TotalSteps = max(0, g.Step)
		if g.Total > 0 {
			r.PlannedSteps = &g.Total
		}
	}
	for _, s := range w.file.AllSeries() {
		if _, ok := r.FinalMetrics[s.Name]; !ok && len(r.FinalMetrics) < maxFinal {
			r.FinalMetrics[s.Name] = report.Number(w.file.Series(s.Name).Last.Value)
		}
	}
	r.Anomalies = w.book.all()
	r.Decide()
	w.diag = w.m.Conclude(w.file, w.req.Target, w.req.RunID, w.kind, w.ref)
	r.BestCheckpoint = w.diag.BestCheckpoint
	r.Findings = findings(r.Anomalies, w.lacks)
	if r.Decision != report.Go {
		r.NextCommands = append(r.NextCommands, w.diag.NextCommands...)
	}
	if again := w.again(); again != "" && r.TerminalState == report.StateFailed {
		r.NextCommands = append(r.NextCommands, again)
	}
	r.Summary = summaryLine(r)
	return r
}

// again is the command that started the run, as it was seen while the process
// lived; "" when it was not seen or holds a secret that was taken out.
func (w *Watch) again() string {
	command, dir := w.file.Value(run.FactCommand), w.file.Value(run.FactCwd)
	if command == "" || dir == "" || redact.Text(command) != command || strings.Contains(command, "[redacted") {
		return ""
	}
	return fmt.Sprintf("cd %s && %s", quote(dir), command)
}

// quote writes a folder so that a shell takes it as it is.
func quote(s string) string {
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// findings has one entry for each grave anomaly that did not heal, and what the
// watch itself could not do.
func findings(all []report.Anomaly, lacks []run.Gap) []report.Finding {
	out := []report.Finding{}
	for _, a := range all {
		if !a.Grave() || a.ClosedAt != nil {
			continue
		}
		out = append(out, report.Finding{
			ID: fmt.Sprintf("F%03d", len(out)+1), Severity: a.Severity, Title: fmt.Sprintf("%s: %s", a.Type, clip(a.Description, 120)),
			Description: a.Description, Fix: a.Fix,
		})
	}
	for _, g := range lacks {
		out = append(out, report.Finding{
			ID: fmt.Sprintf("F%03d", len(out)+1), Severity: report.Low, Title: g.What + " is not on disk", Description: g.Why, Fix: g.Ask,
		})
	}
	return out
}

func summaryLine(r *report.WatchReport) string {
	steps := fmt.Sprintf("step %d", r.TotalSteps)
	if r.PlannedSteps != nil {
		steps += fmt.Sprintf(" of %d", *r.PlannedSteps)
	}
	open := 0
	for _, a := range r.Anomalies {
		if a.ClosedAt == nil {
			open++
		}
	}
	s := fmt.Sprintf("%s at %s: %s", r.TerminalState, steps, clip(r.StopReason, 160))
	if open > 0 {
		s += fmt.Sprintf("; %d anomalies open", open)
	}
	return s
}
