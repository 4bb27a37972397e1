package diagnose_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/report"
)

func diagnosed(t *testing.T, doctor *diagnose.Doctor, target string) *report.Diagnosis {
	t.Helper()
	r, err := doctor.Diagnose(t.Context(), diagnose.Request{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	return r.Diagnosis
}

// TestRecordedFrameworks diagnoses what real frameworks wrote of one failing run;
// testdata/trackers/frameworks.py made it with the versions in versions.json.
func TestRecordedFrameworks(t *testing.T) {
	doctor := newDoctor(t)
	for name, c := range map[string]struct {
		target    string
		first     int64 // non-finite loss
		step      int64 // the last one
		proof     string
		count     int
		nonFinite int
	}{
		"transformers: trainer_state.json, results and events": {"transformers", 21, 40, "trainer_state.json:156: loss = NaN at step 21", 40, 20},
		"transformers: events alone":                           {"tensorboard:testdata/trackers/transformers", 21, 40, "train/loss = NaN at step 21", 40, 20},
		"Lightning: metrics.csv, steps from 0":                 {"lightning", 20, 39, "version_0/metrics.csv:22: train_loss_step = NaN at step 20", 40, 20},
		"Keras: CSVLogger, epochs from 0":                      {"keras", 3, 5, "training.csv:5: loss = NaN, mae = NaN, val_loss = NaN, val_mae = NaN at step 3", 6, 3},
	} {
		t.Run(name, func(t *testing.T) {
			target := c.target
			if !strings.Contains(target, ":") {
				target = filepath.Join("testdata", "trackers", target)
			}
			d := diagnosed(t, doctor, target)
			loss := d.Metrics["loss"]
			if d.PrimaryCause != report.NaNInf || d.RunStatus != report.Diverged || len(d.Evidence) == 0 || !strings.Contains(d.Evidence[0], c.proof) {
				t.Errorf("%s, %s: %v", d.PrimaryCause, d.RunStatus, d.Evidence)
			}
			if loss.FirstNonFiniteStep == nil || *loss.FirstNonFiniteStep != c.first || loss.Count != c.count || loss.NonFiniteCount != c.nonFinite || d.LastProgress.Step == nil || *d.LastProgress.Step != c.step {
				t.Errorf("loss %+v, progress %+v", loss, d.LastProgress)
			}
		})
	}
}

// TestRecordedFlightDumps diagnoses dumps of PyTorch's flight recorder.
func TestRecordedFlightDumps(t *testing.T) {
	doctor := newDoctor(t)
	for how, c := range map[string]struct {
		rank  int
		proof string
	}{
		"missing":  {1, "ranks 0, 2 wait in all_reduce #3 of default_pg (called at ranks.py:17 in average_gradients"},
		"mismatch": {2, "At number 3 of the sequence rank 2 called broadcast (called at ranks.py:27 in train"},
	} {
		t.Run(how, func(t *testing.T) {
			d := diagnosed(t, doctor, filepath.Join("../source/artifacts/flight/testdata", how))
			if d.PrimaryCause != report.NCCL || d.RunStatus != report.Hung || d.FailingRank == nil || *d.FailingRank != c.rank || !strings.Contains(fmt.Sprint(d.Evidence), c.proof) {
				t.Errorf("%s, %s, rank %v: %v", d.PrimaryCause, d.RunStatus, d.FailingRank, d.Evidence)
			}
		})
	}
}

// TestTrackersInAFolder: what trackers left in a run's folder is found there; each
// keeps its own series.
func TestTrackersInAFolder(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("train.log", "loading\ntraining\n")
	run := "mlruns/1/0123456789abcdef0123456789abcdef"
	put(run+"/meta.yaml", "run_id: 0123456789abcdef0123456789abcdef\nrun_name: r\nstart_time: 1700000000000\nstatus: 1\n")
	put(run+"/metrics/train/loss", "1700000001000 0.5 1\n1700000002000 nan 2\n1700000003000 nan 3\n1700000004000 nan 4\n")
	events, err := os.ReadFile("testdata/trackers/transformers/runs/first/events.out.tfevents.1796077590.host.1.0")
	if err != nil {
		t.Fatal(err)
	}
	put("tb/events.out.tfevents.1796077590.host.1.0", string(events))
	d := diagnosed(t, newDoctor(t), dir)
	var nonFinite []string
	for name, m := range d.Metrics {
		if m.NonFiniteCount > 0 && strings.HasSuffix(name, "loss") && m.FirstNonFiniteStep != nil {
			nonFinite = append(nonFinite, fmt.Sprintf("%s from %d", name, *m.FirstNonFiniteStep))
		}
	}
	slices.Sort(nonFinite)
	if diff := cmp.Diff([]string{"loss from 21", "mlflow:train/loss from 2", "train/train_loss from 40"}, nonFinite); diff != "" {
		t.Error(diff)
	}
	if d.PrimaryCause != report.NaNInf || len(d.MissingEvidence) != 0 {
		t.Errorf("%v %s %+v", nonFinite, d.PrimaryCause, d.MissingEvidence)
	}
	if diff := cmp.Diff(int64(40), *d.LastProgress.Step); diff != "" {
		t.Error(diff)
	}
}
