package diagnose_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/failure/all"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
	sourceall "github.com/trainmedic/trainmedic/internal/source/all"
)

// want is the truth beside a case: want.json.
type want struct {
	Primary    report.Class     `json:"classes_primary"`
	Acceptable []report.Class   `json:"acceptable_primary"`
	Status     report.RunStatus `json:"run_status"`
	Step       *int64           `json:"last_step"`
	Rank       *int             `json:"failing_rank"`
	Tasks      []string         `json:"failed_tasks"`
	Evidence   []struct {
		File string `json:"file"`
		Line int    `json:"line"`
	} `json:"evidence_lines"`
}

// score counts right answers.
type score struct{ right, asked int }

func (s *score) add(ok bool) bool {
	s.asked++
	if ok {
		s.right++
	}
	return ok
}

func (s score) rate() float64 { return float64(s.right) / math.Max(1, float64(s.asked)) }

// tally is what a set of cases came to.
type tally struct {
	primary, lenient, evidence, rank, step, status, tasks score
	alarms                                                int
	bins                                                  map[int][2]float64
}

// ece is the expected calibration error of the stated confidence, in five bins.
func (y *tally) ece() float64 {
	sum := 0.0
	for _, b := range y.bins {
		sum += math.Abs(b[0]-b[1]) / float64(y.primary.asked)
	}
	return sum
}

// count diagnoses every case folder as a user would; -v prints every miss.
func count(t *testing.T, pattern string) *tally {
	t.Helper()
	doctor := newDoctor(t)
	cases, err := filepath.Glob(pattern)
	if err != nil || len(cases) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	y := &tally{bins: map[int][2]float64{}}
	for _, file := range cases {
		w, d := judge(t, doctor, filepath.Dir(file))
		y.add(t, path.Base(filepath.Dir(file)), w, d)
	}
	t.Logf("accuracy %.3f lenient %.3f evidence %.3f rank %.3f step %.3f status %.3f tasks %.3f ece %.3f", y.primary.rate(), y.lenient.rate(), y.evidence.rate(), y.rank.rate(), y.step.rate(), y.status.rate(), y.tasks.rate(), y.ece())
	return y
}

func (y *tally) add(t *testing.T, id string, w want, d *report.Diagnosis) {
	t.Helper()
	if w.Primary == report.None {
		if d.PrimaryCause != report.None {
			y.alarms++
			t.Errorf("%s: false alarm: %s (%.2f): %v", id, d.PrimaryCause, d.CauseConfidence, d.Evidence)
		}
		return
	}
	ok := y.primary.add(d.PrimaryCause == w.Primary)
	if !y.lenient.add(ok || slices.Contains(w.Acceptable, d.PrimaryCause)) {
		t.Logf("%s: want %s, got %s (%.2f): %v", id, w.Primary, d.PrimaryCause, d.CauseConfidence, d.Evidence)
	}
	b := y.bins[min(4, int(d.CauseConfidence*5))]
	b[0] += d.CauseConfidence
	if ok {
		b[1]++
	}
	y.bins[min(4, int(d.CauseConfidence*5))] = b
	check := func(s *score, what string, good bool) {
		if !s.add(good) {
			t.Logf("%s: wrong %s", id, what)
		}
	}
	if len(w.Evidence) > 0 {
		check(&y.evidence, "evidence", proves(w, d))
	}
	if w.Rank != nil {
		check(&y.rank, "rank", d.FailingRank != nil && *d.FailingRank == *w.Rank)
	}
	if w.Step != nil {
		got := int64(0)
		if d.LastProgress.Step != nil {
			got = *d.LastProgress.Step
		}
		check(&y.step, "step", got == *w.Step)
	}
	check(&y.status, "status "+string(d.RunStatus)+" for "+string(w.Status), d.RunStatus == w.Status)
	if len(w.Tasks) > 0 {
		check(&y.tasks, "tasks", d.Pipeline != nil && strings.Join(w.Tasks, ",") == strings.Join(d.Pipeline.FailedTasks, ","))
	}
}

// floor is the least that a rate may be.
type floor struct {
	what string
	s    score
	min  float64
}

func hold(t *testing.T, floors ...floor) {
	t.Helper()
	for _, f := range floors {
		if f.s.rate() < f.min {
			t.Errorf("%s %.3f: want at least %.2f", f.what, f.s.rate(), f.min)
		}
	}
}

// TestCorpus holds the figures that the project promises for its corpus.
func TestCorpus(t *testing.T) {
	y := count(t, "testdata/cases/*/want.json")
	hold(t, floor{"accuracy", y.primary, 0.95}, floor{"evidence", y.evidence, 0.90}, floor{"rank", y.rank, 0.90}, floor{"step", y.step, 0.95}, floor{"status", y.status, 0.95})
	if y.ece() > 0.06 {
		t.Errorf("expected calibration error %.3f: want at most 0.06", y.ece())
	}
}

// TestFreshCases holds what was learnt from sets that were once unseen.
func TestFreshCases(t *testing.T) {
	if testing.Short() {
		t.Skip("some 800 runs")
	}
	y := count(t, "testdata/fresh/*/*/want.json")
	hold(t, floor{"accuracy", y.primary, 0.90}, floor{"lenient accuracy", y.lenient, 0.95}, floor{"evidence", y.evidence, 0.92}, floor{"rank", y.rank, 0.83}, floor{"step", y.step, 0.90}, floor{"status", y.status, 0.92})
}

// TestHealthyLogs: no healthy run is called failed.
func TestHealthyLogs(t *testing.T) {
	if testing.Short() {
		t.Skip("some 130 runs")
	}
	doctor := newDoctor(t)
	logs, err := filepath.Glob("testdata/healthy/*.log")
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	for _, log := range logs {
		res, err := doctor.Diagnose(t.Context(), diagnose.Request{Target: log})
		if err != nil {
			t.Errorf("%s: %v", log, err)
			continue
		}
		if d := res.Diagnosis; d.PrimaryCause != report.None {
			t.Errorf("%s: false alarm: %s (%.2f): %v", log, d.PrimaryCause, d.CauseConfidence, d.Evidence)
		}
	}
}

func proves(w want, d *report.Diagnosis) bool {
	for _, e := range w.Evidence {
		for i, r := range d.EvidenceRefs {
			if i < 3 && path.Base(r.File) == path.Base(e.File) && r.Line-e.Line <= 3 && e.Line-r.Line <= 3 {
				return true
			}
		}
	}
	return false
}

func newDoctor(t *testing.T) *diagnose.Doctor {
	t.Helper()
	book, err := all.Book()
	if err != nil {
		t.Fatal(err)
	}
	return &diagnose.Doctor{Book: book, Sources: sourceall.Kinds()}
}

// judge copies the case to a folder with a neutral name, since its own name and
// want.json would give the answer away.
func judge(t *testing.T, doctor *diagnose.Doctor, dir string) (want, *report.Diagnosis) {
	t.Helper()
	var w want
	b, err := os.ReadFile(filepath.Join(dir, "want.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &w); err != nil {
		t.Fatal(err)
	}
	run := filepath.Join(t.TempDir(), "run")
	copyTree(t, dir, run)
	req := diagnose.Request{Target: run}
	if b, err := os.ReadFile(filepath.Join(run, "traceback.txt")); err == nil {
		req = diagnose.Request{Text: string(b), Options: source.Options{}}
	}
	res, err := doctor.Diagnose(context.Background(), req)
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	return w, res.Diagnosis
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(from), ".", func(p string, e fs.DirEntry, err error) error {
		if err != nil || p == "want.json" {
			return err
		}
		if e.IsDir() {
			return os.MkdirAll(filepath.Join(to, p), 0o755)
		}
		b, err := os.ReadFile(filepath.Join(from, p))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, p), b, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
}
