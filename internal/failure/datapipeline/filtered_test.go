package datapipeline_test

import (
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

func TestNearlyAllFiltered(t *testing.T) {
	for _, c := range []struct {
		name, log string
		want      int
	}{
		{"611 of 413,518 files are left", "Dataset loaded with 611 files totalling 0.08 hours\n412907 files were filtered totalling 1300000.00 hours\n", 1},
		{"a cleaning", "Dataset loaded with 412907 files totalling 700.20 hours\n611 files were filtered totalling 2.10 hours\n", 0},
		{"in one line", "kept 12 of 40,112 utterances, the rest was filtered by length\n", 1},
		{"a small set", "kept 1 of 40 utterances, the rest was filtered by length\n", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := failuretest.Run(t, report.DataPipeline, "nearly-all-filtered", failuretest.File(t, c.log)); len(got) != c.want {
				t.Errorf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}
