package stalled_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

func TestThroughputCollapse(t *testing.T) {
	log := func(late float64) string {
		var b strings.Builder
		for i := 1; i <= 60; i++ {
			rate := 1400.0
			if i > 35 {
				rate = late
			}
			fmt.Fprintf(&b, "step=%d loss=%.3f samples_per_second=%.1f\n", i*10, 3-float64(i)*0.02, rate)
		}
		return b.String()
	}
	got := failuretest.Run(t, report.Stalled, "throughput-collapse", failuretest.File(t, log(310)))
	if len(got) != 1 || got[0].Role != report.RoleContext {
		t.Errorf("want one factor, got %+v", got)
	}
	if got := failuretest.Run(t, report.Stalled, "throughput-collapse", failuretest.File(t, log(1200))); len(got) != 0 {
		t.Errorf("a rate that dips a little: %+v", got)
	}
}
