package page_test

import (
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/page"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// TestTheAppIsWhole: a host shows the app without any network.
func TestTheAppIsWhole(t *testing.T) {
	app, err := page.App()
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"http://", "https://", "src=", "@import", "{{"} {
		if strings.Contains(app, bad) {
			t.Errorf("the app has %q", bad)
		}
	}
	for _, want := range []string{"ui/initialize", page.ReportKey, "color-scheme: light dark"} {
		if !strings.Contains(app, want) {
			t.Errorf("the app lacks %q", want)
		}
	}
}

// TestAPageIsInert: what a log says is text on the page, whatever it says, and
// the page asks nobody for anything.
func TestAPageIsInert(t *testing.T) {
	const hostile = `</pre><script>alert(1)</script><img src="http://evil/x.png" onerror=alert(1)> javascript:alert(1)`
	step := int64(12)
	d := &report.Diagnosis{
		Decision: report.NoGo, Target: hostile, NextCommands: []string{hostile}, LastProgress: report.Progress{Step: &step},
		Verdict: report.Verdict{
			RunStatus: report.Crashed, PrimaryCause: report.OOM, RootCause: hostile, Evidence: []string{hostile}, ContributingFactors: []string{hostile},
			EvidenceRefs: []report.EvidenceRef{{File: "run.log", Line: 7, Text: hostile}}, CauseChain: []report.ChainLink{{Class: "oom", What: hostile}},
			RuledOut: []report.RuledOut{{Class: "cuda-runtime", Why: hostile}}, MissingEvidence: []report.MissingEvidence{{What: hostile, Why: hostile, Ask: hostile}},
		},
		Fixes:          []report.Fix{{Action: hostile, Command: new(string)}},
		FailureContext: report.FailureContext{File: "run.log", FirstLine: 6, Lines: []string{"before", hostile, "after"}},
	}
	var b strings.Builder
	if err := page.Write(&b, d, losses(hostile)); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, bad := range []string{"<script", "<img", "href=", "src=\"http", "url("} {
		if strings.Contains(text, bad) {
			t.Errorf("the page has %q:\n%s", bad, text)
		}
	}
	for _, want := range []string{"<svg ", "--plot-ink: light-dark(#1F2933, #e6edf3);", "&lt;script&gt;", `<span class="hit"><i>7</i>`, "last step 12", "default-src 'none'"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
}

// losses is the only metric of a run, under the name of each that is asked for.
func losses(name string) func(string) *run.Series {
	s := &run.Series{Name: name}
	for i := range 20 {
		s.Add(run.Point{Step: int64(i), Value: 3 - float64(i)/10})
	}
	return func(string) *run.Series { return s }
}
