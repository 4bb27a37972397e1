package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/report"
)

func big() *report.Diagnosis {
	d := report.NewDiagnosis()
	for i := range 200 {
		d.EvidenceRefs = append(d.EvidenceRefs, report.EvidenceRef{File: "a", Line: i + 1, Text: strings.Repeat("x", 100)})
		d.Metrics[fmt.Sprintf("m%03d", i)] = report.Metric{}
	}
	d.Metrics["loss"] = report.Metric{}
	d.FailureContext = report.FailureContext{File: "b", FirstLine: 1, Lines: strings.Split(strings.Repeat("context\n", 50), "\n")}
	return d
}

func TestBound(t *testing.T) {
	for _, limit := range []int{40_000, 20_000, 10_000, 5_000, 2_000} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			d := big()
			d.Bound(limit, "run://x")
			b, err := report.Compact(d)
			if err != nil {
				t.Fatal(err)
			}
			if len(b) > limit || len(b) < limit*8/10 {
				t.Errorf("%d bytes, want a little less than %d", len(b), limit)
			}
			for _, c := range d.Cut {
				if c.URI != "run://x" || c.Kept >= c.Total {
					t.Errorf("cut: %+v", c)
				}
			}
		})
	}
}

func TestBoundLeavesWhatFits(t *testing.T) {
	d := big()
	d.Bound(1_000_000, "run://x")
	if diff := cmp.Diff(big(), d); diff != "" {
		t.Error(diff)
	}
}

func TestTheContextStaysAroundTheProof(t *testing.T) {
	d := report.NewDiagnosis()
	d.EvidenceRefs = []report.EvidenceRef{{File: "a", Line: 140, Role: report.RoleCause}}
	d.FailureContext = report.FailureContext{File: "a", FirstLine: 100}
	for i := range 50 {
		d.FailureContext.Lines = append(d.FailureContext.Lines, fmt.Sprintf("%d %s", 100+i, strings.Repeat("y", 300)))
	}
	d.Bound(8_000, "")
	c := d.FailureContext
	if n := 140 - c.FirstLine; n < 0 || n >= len(c.Lines) || !strings.HasPrefix(c.Lines[n], "140 ") || len(c.Lines) < 20 {
		t.Errorf("from %d, %d lines", c.FirstLine, len(c.Lines))
	}
}

func TestTheMainMetricsStayLongest(t *testing.T) {
	d := big()
	d.EvidenceRefs = nil
	d.Bound(4_000, "")
	if _, ok := d.Metrics["loss"]; !ok || len(d.Metrics) == 201 {
		t.Errorf("%d metrics, loss %v", len(d.Metrics), ok)
	}
}
