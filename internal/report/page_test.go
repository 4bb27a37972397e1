package report_test

import (
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/report"
)

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
	if err := report.WritePage(&b, d, report.Drawing{SVG: "<svg><title>loss</title></svg>", Style: [][2]string{{"--plot-ink", "#1F2933"}}}); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{"<script", "<img", "href=", "src=\"http", "url("} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q:\n%s", bad, page)
		}
	}
	for _, want := range []string{"<svg><title>loss</title></svg>", "--plot-ink: #1F2933;", "&lt;script&gt;", `<span class="hit"><i>7</i>`, "last step 12", "default-src 'none'"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
