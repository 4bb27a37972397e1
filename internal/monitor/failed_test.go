package monitor_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
)

// tellable are the anomaly types that a run of a class may be told by: a class
// says why it failed, an anomaly what was seen.
var tellable = map[report.Class][]report.AnomalyType{
	report.NaNInf:       {report.AnomalyNaNInf, report.AnomalyDivergence, report.AnomalyGradientExplosion},
	report.OOM:          {report.AnomalyOOM, report.AnomalyCrash, report.AnomalyMemoryLeak},
	report.Divergence:   {report.AnomalyDivergence, report.AnomalyNaNInf, report.AnomalyGradientExplosion},
	report.CUDA:         {report.AnomalyCUDAError, report.AnomalyCrash, report.AnomalyOOM},
	report.NCCL:         {report.AnomalyDistributedError, report.AnomalyStalled},
	report.DataPipeline: {report.AnomalyDataError, report.AnomalyCrash, report.AnomalyCUDAError},
	report.Config:       {report.AnomalyCrash, report.AnomalyDistributedError, report.AnomalyCheckpointFailure},
	report.IOCheckpoint: {report.AnomalyCheckpointFailure, report.AnomalyCrash, report.AnomalyDiskFilling},
	report.Stalled:      {report.AnomalyStalled, report.AnomalyDistributedError},
	report.Crash:        {report.AnomalyCrash, report.AnomalyOOM, report.AnomalyCancelled},
	report.EvalMismatch: {report.AnomalyLogError},
	report.Pipeline:     {report.AnomalyPipelineFailed, report.AnomalyTaskFailed, report.AnomalyJobFailed, report.AnomalyCrash},
	report.CloudQuota:   {report.AnomalyLogError, report.AnomalyJobFailed, report.AnomalyPipelineFailed, report.AnomalyTaskFailed},
}

// TestFailedRunsAreTold replays the failed runs of the corpus: at the look after
// the last line of a log at the latest (a quiet run is looked at every five
// minutes) something is told, of a fitting type. A
// run that just stands still is told later, and one whose failure stands only in
// exports is not played.
func TestFailedRunsAreTold(t *testing.T) {
	if testing.Short() {
		t.Skip("some 60 runs")
	}
	paths, err := filepath.Glob("../diagnose/testdata/cases/*/want.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	played, found := 0, 0
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		var w struct {
			Primary report.Class `json:"classes_primary"`
		}
		if err := json.Unmarshal(b, &w); err != nil {
			t.Fatal(err)
		}
		if w.Primary == report.None {
			continue
		}
		r := monitor.Request{Interval: 30 * time.Second}
		s := stageOf(t, filepath.Dir(p), 60, r.Interval)
		if s == nil {
			continue
		}
		r.Interval = max(r.Interval, s.length()/240)
		got := watchStage(t, s, r, 40)
		played++
		var types []report.AnomalyType
		for i, e := range got.events {
			if e.Anomaly != nil && (got.ats[i] <= s.length()+r.Interval+5*time.Minute || e.Anomaly.Type == report.AnomalyStalled) {
				types = append(types, e.Anomaly.Type)
			}
		}
		if slices.ContainsFunc(types, func(a report.AnomalyType) bool { return slices.Contains(tellable[w.Primary], a) }) {
			found++
			continue
		}
		state := report.StateRunning
		if got.end != nil {
			state = got.end.TerminalState
		}
		t.Logf("%s: %s was told as %v, %s", filepath.Base(filepath.Dir(p)), w.Primary, types, state)
	}
	t.Logf("%d of %d runs were told in time", found, played)
	if found*100 < played*90 {
		t.Errorf("%d of %d runs were told in time: want nine of ten", found, played)
	}
}
