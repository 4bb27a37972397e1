package report

import (
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
)

// WriteWatchText writes the final summary of a watch, as the skill has it.
func WriteWatchText(w io.Writer, r *WatchReport, opt TextOptions) error {
	p := &page{color: opt.Color}
	title := "Training " + map[TerminalState]string{
		StateSucceeded: "Complete", StateFailed: "Failed", StateCancelled: "Cancelled", StateTimeout: "Timed Out",
		StateEarlyStopped: "Stopped Early", StateRunning: "Still Running",
	}[r.TerminalState]
	fmt.Fprintf(p, "%s\n%s\n", p.bold(title), strings.Repeat("=", len(title)))
	p.field("Target", r.Target)
	p.field("Terminal state", string(r.TerminalState))
	steps := fmt.Sprint(r.TotalSteps)
	if r.PlannedSteps != nil {
		steps = fmt.Sprintf("%d/%d", r.TotalSteps, *r.PlannedSteps)
	}
	p.field("Steps completed", steps)
	p.field("Final metrics", orNone(strings.Join(finalMetrics(r.FinalMetrics), ", ")))
	best := "none"
	if r.BestCheckpoint != nil {
		best = run.Name(*r.BestCheckpoint)
	}
	p.field("Best checkpoint", best)
	p.field("Reason for stopping", r.StopReason)
	var lines []string
	for i := range r.Anomalies {
		lines = append(lines, anomalyText(&r.Anomalies[i]))
	}
	p.list("Anomalies", lines, textEvidence)
	fmt.Fprintln(p)
	p.field("Decision", p.paint(decisionColor(r.Decision), string(r.Decision)))
	p.field("Confidence", string(r.Confidence))
	p.list("Next command(s)", r.NextCommands, len(r.NextCommands))
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("report: write text: %w", err)
	}
	return nil
}

func anomalyText(a *Anomaly) string {
	s := fmt.Sprintf("%s: %s: %s", SeverityTitle(a.Severity), a.Type, clip(a.Description, textWidth))
	if a.Step != nil {
		s = fmt.Sprintf("step %d: %s", *a.Step, s)
	}
	if a.ClosedAt != nil {
		s += " (recovered)"
	}
	if a.ActionTaken != "" {
		s += " [" + a.ActionTaken + "]"
	}
	return s
}

// finalMetrics lists the canonical metrics first.
func finalMetrics(m map[string]Number) []string {
	var out []string
	for _, n := range mainMetrics {
		if v, ok := m[n]; ok {
			out = append(out, n+"="+Short(float64(v)))
		}
	}
	for _, n := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(mainMetrics, n) && len(out) < 12 {
			out = append(out, run.Name(n)+"="+Short(float64(m[n])))
		}
	}
	return out
}

// Short writes a metric's value as a progress line does: 0.342, 1e-4, 12.3, nan.
func Short(v float64) string {
	form := byte('g')
	if v != 0 && math.Abs(v) < 1e-3 {
		form = 'e'
	}
	s := strconv.FormatFloat(v, form, -1, 64)
	if len(s) > 6 {
		s = fmt.Sprintf(map[byte]string{'g': "%.4g", 'e': "%.2e"}[form], v)
	}
	return strings.ToLower(exponent.ReplaceAllString(s, "${1}e$2"))
}

var exponent = regexp.MustCompile(`(?:\.0+|(\.\d*[1-9])0+)?e\+?(-?)0*`)

// Took writes a time as the skill does: 45s, 12m, 1h 23m, 3d 4h.
func Took(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()+0.5))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh %02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd %dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Bound makes the report fit into max bytes of JSON.
func (r *WatchReport) Bound(max int, uri string) {
	Fit(r, max, uri, &r.Cut,
		Entries("final_metrics", &r.FinalMetrics, mainMetrics, 11),
		Last("anomalies_detected", &r.Anomalies, 10),
		First("findings", &r.Findings, 5), First("next_commands", &r.NextCommands, 5))
}
