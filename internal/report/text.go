package report

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

// How much of a list the text report shows; the artifact has the rest.
const (
	textEvidence = 8
	textRuledOut = 8
	textFixes    = 3
	textWidth    = 180 // characters of one line of evidence
)

// TextOptions say how a text report looks.
type TextOptions struct {
	Color bool
}

// WriteText writes the compact report: what is wrong and why in the first
// lines, every claim with the line that proves it, what to do, and what was not
// seen. The same diagnosis always gives the same text.
func WriteText(w io.Writer, d *Diagnosis, opt TextOptions) error {
	p := &page{color: opt.Color}
	p.head(d)
	p.evidence(d)
	p.cause(d)
	p.fixes(d)
	p.tail(d)
	if _, err := io.WriteString(w, p.String()); err != nil {
		return fmt.Errorf("report: write text: %w", err)
	}
	return nil
}

// page is a report being written.
type page struct {
	strings.Builder
	color bool
}

// field writes one "Label: value" line.
func (p *page) field(label, value string) {
	fmt.Fprintf(p, "%s %s\n", p.bold(label+":"), oneLine(value))
}

// list writes a label and up to max items under it; nothing if there are none.
func (p *page) list(label string, items []string, max int) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintln(p, p.bold(label+":"))
	for i, it := range items {
		if i == max {
			fmt.Fprintf(p, "- … %d more in the artifact\n", len(items)-max)
			return
		}
		fmt.Fprintf(p, "- %s\n", oneLine(it))
	}
}

func (p *page) head(d *Diagnosis) {
	p.field("Status", p.paint(statusColor(d.RunStatus), string(d.RunStatus)))
	p.field("Framework", FrameworkTitle(d.Framework))
	p.field("Primary cause", fmt.Sprintf("%s (confidence: %.2f)", p.bold(string(d.PrimaryCause)), d.CauseConfidence))
	p.field("Contributing factors", orNone(strings.Join(d.ContributingFactors, "; ")))
	if s := d.Pipeline; s != nil {
		p.pipeline(s)
	}
}

// pipeline is the skill's form of a pipeline, and the like of a single job.
func (p *page) pipeline(s *PipelineState) {
	state := run.Name(strings.TrimPrefix(strings.TrimPrefix(s.State, "PIPELINE_STATE_"), "JOB_STATE_"))
	if strings.Contains(s.Name, "/customJobs/") {
		p.field("Custom job", run.Name(s.Name))
		p.field("Job state", state)
		return
	}
	p.field("Pipeline", run.Name(s.Name))
	p.field("Pipeline state", state)
	p.field("Failed tasks", orNone(names(s.FailedTasks)))
}

// names lists names of the run.
func names(all []string) string {
	out := make([]string, len(all))
	for i, n := range all {
		out[i] = run.Name(n)
	}
	return strings.Join(out, ",")
}

var located = regexp.MustCompile(`^(\S+:\d+): +(.*)$`)

// evidence aligns the texts behind their file:line, and marks the line that
// proves the primary cause.
func (p *page) evidence(d *Diagnosis) {
	items, width := make([]string, 0, len(d.Evidence)), 0
	for _, e := range shown(d.Evidence, textEvidence) {
		if m := located.FindStringSubmatch(e); m != nil && len(m[1]) <= 60 {
			width = max(width, len([]rune(m[1])))
		}
	}
	proof := proofLocation(d)
	for _, e := range d.Evidence {
		m := located.FindStringSubmatch(e)
		if m == nil {
			items = append(items, clip(e, textWidth))
			continue
		}
		line := fmt.Sprintf("%-*s  %s", width, m[1], clip(strings.TrimSpace(m[2]), textWidth))
		if m[1] == proof {
			line += p.paint(cyan, "  ← proves it")
			proof = "" // one mark is enough
		}
		items = append(items, line)
	}
	p.list("Evidence", items, textEvidence)
}

func proofLocation(d *Diagnosis) string {
	if len(d.EvidenceRefs) == 0 || d.PrimaryCause == None || d.PrimaryCause == Unknown {
		return ""
	}
	return fmt.Sprintf("%s:%d", d.EvidenceRefs[0].File, d.EvidenceRefs[0].Line)
}

func (p *page) cause(d *Diagnosis) {
	if d.RootCause != "" {
		fmt.Fprintf(p, "%s\n%s\n", p.bold("Root cause:"), d.RootCause)
	}
	if len(d.CauseChain) > 1 {
		fmt.Fprintf(p, "%s %s\n", p.bold("Chain:"), chainText(d.CauseChain))
	}
	var out []string
	for _, r := range d.RuledOut {
		out = append(out, fmt.Sprintf("%s: %s", r.Class, r.Why))
	}
	p.list("Ruled out", out, textRuledOut)
}

// chainText puts the links on one line where they fit, else one under another.
func chainText(chain []ChainLink) string {
	var links []string
	for _, l := range chain {
		s := l.Class
		if l.Rank != nil {
			s = fmt.Sprintf("rank %d %s", *l.Rank, s)
		}
		if l.What != "" {
			s += ": " + clip(oneLine(l.What), textWidth)
		}
		links = append(links, s)
	}
	if one := strings.Join(links, " → "); len([]rune(one)) <= 140 {
		return one
	}
	return strings.Join(links, "\n  → ")
}

func (p *page) fixes(d *Diagnosis) {
	if len(d.Fixes) > 0 {
		fmt.Fprintln(p, p.bold("Top fixes:"))
	}
	for i, f := range shown(d.Fixes, textFixes) {
		fmt.Fprintf(p, "%d) %s\n", i+1, fixLine(f))
	}
	if n := len(d.Fixes) - textFixes; n > 0 {
		fmt.Fprintf(p, "… %d more in the artifact\n", n)
	}
	decision := p.paint(decisionColor(d.Decision), string(d.Decision))
	p.field("Decision", fmt.Sprintf("%s (%s)", decision, decisionWhy(d)))
	p.field("Confidence", string(d.Confidence))
}

func fixLine(f Fix) string {
	parts := []string{f.Action, "risk=" + string(f.Risk)}
	if f.ExpectedImpact != "" {
		parts = append(parts, "impact="+f.ExpectedImpact)
	}
	if f.TimeToTrySeconds > 0 {
		parts = append(parts, duration(f.TimeToTrySeconds))
	}
	if f.Validate != "" {
		parts = append(parts, "validate="+f.Validate)
	}
	return oneLine(strings.Join(parts, " | "))
}

// decisionWhy reads the reason off the plan; the decision itself is the judge's.
func decisionWhy(d *Diagnosis) string {
	switch {
	case d.PrimaryCause == None && d.Decision == Go:
		return "nothing to repair"
	case d.Decision == Go:
		return "a safe first step exists"
	case d.Decision == Conditional:
		return "a safe step exists, but it leaves the cause in place"
	case d.PrimaryCause == Unknown || len(d.Fixes) == 0:
		return "the evidence does not suffice"
	case len(d.Fixes) == 1:
		return "the fix needs a person's approval: your call"
	}
	return "every fix needs a person's approval: your call"
}

func (p *page) tail(d *Diagnosis) {
	best := "none known"
	if d.BestCheckpoint != nil {
		best = run.Name(*d.BestCheckpoint)
	}
	fmt.Fprintf(p, "\n%s %s · %s %s\n", p.bold("Last progress:"), progressText(d.LastProgress), p.bold("Best checkpoint:"), best)
	var missing []string
	for _, m := range d.MissingEvidence {
		missing = append(missing, missingText(m))
	}
	if len(missing) == 1 {
		p.field("Missing", missing[0])
	} else {
		p.list("Missing", missing, textEvidence)
	}
	p.list("Next command(s)", d.NextCommands, len(d.NextCommands))
}

func missingText(m MissingEvidence) string {
	s := m.What
	if m.Why != "" {
		s += " (" + m.Why + ")"
	}
	if m.Ask != "" {
		s += " → " + m.Ask
	}
	return s
}

func progressText(g Progress) string {
	var s string
	switch {
	case g.Step == nil && g.TotalSteps == nil:
		s = "no step reported"
	case g.Step == nil:
		s = fmt.Sprintf("no step completed of %d", *g.TotalSteps)
	case g.TotalSteps == nil:
		s = fmt.Sprintf("step %d", *g.Step)
	default:
		s = fmt.Sprintf("step %d of %d", *g.Step, *g.TotalSteps)
	}
	if g.Epoch != nil {
		s += fmt.Sprintf(", epoch %.4g", *g.Epoch)
	}
	if g.At != nil {
		s += " at " + *g.At
	}
	return s
}
