package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// assemble writes what the ruling and the case file say into a Diagnosis.
func assemble(f *casefile.File, r judge.Ruling) *report.Diagnosis {
	d := report.NewDiagnosis()
	d.Verdict, d.Fixes, d.Decision = r.Verdict, r.Fixes, r.Decision
	if d.Fixes == nil {
		d.Fixes = []report.Fix{}
	}
	d.Confidence = report.InWords(d.CauseConfidence)
	if r.Context != nil {
		d.FailureContext = report.FailureContext{File: r.Context.File, FirstLine: r.Context.First, Lines: r.Context.Lines}
	}
	d.LastProgress = progress(f)
	d.Metrics = metrics(f)
	d.Checkpoints, d.BestCheckpoint = checkpoints(f.Checkpoints, r.Onset)
	d.Pipeline = pipeline(f, d.PrimaryCause == report.None)
	d.Findings = findings(d)
	d.Seen = r.Seen
	return d
}

// progress is the last training step that the run reported as done.
func progress(f *casefile.File) report.Progress {
	var p report.Progress
	if m := f.Main(); m != nil {
		v := m.Progress()
		if v.Step >= 0 {
			p.Step = &v.Step
		}
		if v.Total > 0 {
			p.TotalSteps = &v.Total
		}
		if v.Epoch >= 0 {
			p.Epoch = &v.Epoch
		}
		if !v.Time.IsZero() {
			at := v.Time.UTC().Format(time.RFC3339)
			p.At = &at
		}
	}
	if p.Step == nil {
		p.Step = intFact(f, "trainer.global_step")
	}
	if p.Step == nil || *p.Step == 0 { // nothing done since the resume: what was done before it counts
		if n := intFact(f, "run.resumed_step"); n != nil {
			p.Step = n
		}
	}
	if p.TotalSteps == nil {
		p.TotalSteps = intFact(f, "trainer.max_steps")
	}
	return p
}

func intFact(f *casefile.File, key string) *int64 {
	var n int64
	if _, err := fmt.Sscan(f.Value(key), &n); err != nil || n <= 0 {
		return nil
	}
	return &n
}

const maxMetrics = 60

// metrics summarizes the series of the run, the canonical ones first.
func metrics(f *casefile.File) map[string]report.Metric {
	out := map[string]report.Metric{}
	for _, s := range f.AllSeries() {
		if len(out) >= maxMetrics {
			break
		}
		if _, ok := out[s.Name]; ok {
			continue
		}
		if best := f.Series(s.Name); best != nil {
			out[s.Name] = Summarize(best)
		}
	}
	return out
}

// Summarize writes a series as the artifact's metric.
func Summarize(s *run.Series) report.Metric {
	m := report.Metric{
		First: report.Number(s.First.Value), Last: report.Number(s.Last.Value),
		Min: report.Number(s.Min.Value), Max: report.Number(s.Max.Value), Count: s.Count, NonFiniteCount: s.NonFinite,
	}
	if !s.Finite() {
		m.Min, m.Max = m.First, m.First
	}
	if p := s.FirstNonFinite; p != nil && p.Step >= 0 {
		step := p.Step
		m.FirstNonFiniteStep = &step
	}
	return m
}

// checkpoints lists what was saved; the best is the newest proven complete that
// was written before training went wrong (onset, -1 when it did not).
func checkpoints(in []run.Checkpoint, onset int64) ([]report.Checkpoint, *string) {
	out := []report.Checkpoint{}
	var best *run.Checkpoint
	for i, c := range in {
		r := report.Checkpoint{Path: c.Path, Complete: c.Complete, Why: c.Why}
		if c.Step >= 0 {
			step := c.Step
			r.Step = &step
		}
		if !c.ModifiedAt.IsZero() {
			at := c.ModifiedAt.UTC().Format(time.RFC3339)
			r.ModifiedAt = &at
		}
		out = append(out, r)
		if c.Complete != nil && *c.Complete && !(onset >= 0 && c.Step >= onset) && (best == nil || newer(c, *best)) {
			best = &in[i]
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Path < out[j].Path })
	if best == nil {
		return out, nil
	}
	return out, &best.Path
}

func newer(a, b run.Checkpoint) bool {
	if a.Step != b.Step {
		return a.Step > b.Step
	}
	return a.ModifiedAt.After(b.ModifiedAt)
}

// pipeline summarizes the orchestrated run; where no resource was read, the
// tasks that the orchestrator's own log calls failed, unless the run is healthy.
func pipeline(f *casefile.File, healthy bool) *report.PipelineState {
	p := f.Pipeline
	if p == nil {
		if healthy {
			return nil // what its log calls failed was tried again
		}
		return pipelineFromLog(f)
	}
	s := &report.PipelineState{Name: cmp.Or(p.Resource, p.Name), State: p.State, FailedTasks: []string{}, Tasks: map[string]int{}}
	for _, t := range p.Failed() {
		s.FailedTasks = append(s.FailedTasks, t.Name)
	}
	if len(s.FailedTasks) > 0 {
		s.FirstFailedTask = &s.FailedTasks[0]
	}
	var doneAt time.Time
	for _, t := range p.Tasks {
		s.Tasks[t.State]++
		if done := strings.EqualFold(t.State, "SUCCEEDED") || t.State == "SKIPPED"; !done || t.Group {
			continue
		}
		if name := t.Name; s.LastSucceededTask == nil || t.End.After(doneAt) {
			s.LastSucceededTask, doneAt = &name, t.End
		}
	}
	return s
}

func pipelineFromLog(f *casefile.File) *report.PipelineState {
	s := &report.PipelineState{Name: f.Value("pod.name"), State: "FAILED", FailedTasks: []string{}, Tasks: map[string]int{}}
	for _, v := range f.FactsUnder("task.failed") {
		if !slices.Contains(s.FailedTasks, v.Value) {
			s.FailedTasks = append(s.FailedTasks, v.Value)
		}
	}
	if v := f.Value("pod.task"); v != "" && strings.EqualFold(f.Value("pod.phase"), "failed") && len(s.FailedTasks) == 0 {
		s.FailedTasks = append(s.FailedTasks, v)
	}
	if v := f.Value("task.running"); v != "" && f.Value("task.stopped") != "" && len(s.FailedTasks) == 0 {
		s.FailedTasks = append(s.FailedTasks, v)
	}
	if len(s.FailedTasks) == 0 {
		return nil
	}
	s.FirstFailedTask, s.Tasks["FAILED"] = &s.FailedTasks[0], len(s.FailedTasks)
	return s
}

// findings has one entry for each top fix, or one that says what is missing.
func findings(d *report.Diagnosis) []report.Finding {
	out := []report.Finding{}
	if d.PrimaryCause == report.None {
		return out
	}
	title := fmt.Sprintf("%s: %s", d.PrimaryCause, clip(d.RootCause, 120))
	add := func(sev report.Severity, fix string) {
		out = append(out, report.Finding{ID: fmt.Sprintf("F%03d", len(out)+1), Severity: sev, Title: title, Description: d.ProximateCause, Fix: fix})
	}
	for i, f := range d.Fixes {
		sev := report.High
		if i == 0 && d.RunStatus != report.Degraded {
			sev = report.Blocker
		}
		add(sev, f.Action)
		if i == 2 {
			break
		}
	}
	if len(out) == 0 {
		ask := ""
		if len(d.MissingEvidence) > 0 {
			ask = "Fetch: " + d.MissingEvidence[len(d.MissingEvidence)-1].Ask
		}
		add(report.High, ask)
	}
	return out
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// summary is the diagnosis in one line.
func summary(d *report.Diagnosis) string {
	where := ""
	if d.FailingRank != nil {
		where = fmt.Sprintf(" on rank %d", *d.FailingRank)
	}
	if p := d.LastProgress; p.Step != nil {
		where += fmt.Sprintf(" after step %d", *p.Step)
		if p.TotalSteps != nil {
			where += fmt.Sprintf(" of %d", *p.TotalSteps)
		}
	}
	switch d.PrimaryCause {
	case report.None:
		return fmt.Sprintf("%s%s: no unrecovered failure found", d.RunStatus, where)
	case report.Unknown:
		return fmt.Sprintf("%s%s: the cause cannot be told from what was read", d.RunStatus, where)
	}
	return fmt.Sprintf("%s%s: %s (%.2f): %s", d.RunStatus, where, d.PrimaryCause, d.CauseConfidence, clip(d.RootCause, 160))
}

// nextCommands are commands that exist and run as printed: the proving lines,
// and what the fixes name where the run's own machine is at hand.
func nextCommands(d *report.Diagnosis, kind *source.Kind, ref string, machine bool) []string {
	out, host := []string{}, ""
	if kind.Place != nil {
		host = kind.Place(ref)
	}
	there := func(cmd string) string {
		if host == "" {
			return cmd
		}
		return "ssh " + quote(host) + " " + quote(cmd)
	}
	for _, f := range d.Fixes {
		if f.Command != nil && f.Risk == report.Safe && machine {
			out = append(out, there(*f.Command))
		}
	}
	if len(d.EvidenceRefs) > 0 && d.EvidenceRefs[0].Line > 0 && (kind.Scheme == "file" || kind.Scheme == "artifacts" || kind.Scheme == "ssh") && ref != "-" {
		e := d.EvidenceRefs[0]
		path := ref
		if host != "" {
			path = strings.TrimPrefix(strings.TrimPrefix(ref, host+":"), "~/") // ssh begins in the home
		}
		if kind.Scheme == "artifacts" || host != "" && !strings.HasSuffix(path, "/"+e.File) && path != e.File {
			path = strings.TrimSuffix(path, "/") + "/" + e.File
		}
		if !strings.HasSuffix(path, ".gz") && !strings.HasSuffix(path, ".zst") && !strings.ContainsAny(ref, "*?[") {
			out = append(out, there(fmt.Sprintf("sed -n '%d,%dp' %s", max(1, e.Line-20), e.Line+20, quote(path))))
		}
	}
	if len(out) > 5 {
		out = out[:5]
	}
	return out
}

// quote writes a word so that a shell takes it as it is.
func quote(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-+=:@%,") == "" && s[0] != '-' {
		return s
	}
	q := "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	if redact.Clean(s) != s || strings.ContainsAny(s, "\n\t") { // what nobody sees would not come through as it is
		q = strconv.QuoteToASCII(s)
		q = "$'" + strings.NewReplacer(`\"`, `"`, "'", `\'`, `\\`, `\\`).Replace(q[1:len(q)-1]) + "'"
	}
	if strings.HasPrefix(s, "-") {
		q = "./" + q
	}
	return q
}
