package diagnose_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
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

// TestCorpus diagnoses every case folder as a user would and holds the figures
// that the project promises; -v prints every miss.
func TestCorpus(t *testing.T) {
	doctor := newDoctor(t)
	dirs, err := filepath.Glob("testdata/cases/*/want.json")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var primary, evidence, rank, step, status, tasks score
	bins := map[int][2]float64{}
	for _, file := range dirs {
		w, d := judge(t, doctor, filepath.Dir(file))
		id := path.Base(filepath.Dir(file))
		if w.Primary == report.None {
			if d.PrimaryCause != report.None {
				t.Errorf("%s: false alarm: %s (%.2f): %v", id, d.PrimaryCause, d.CauseConfidence, d.Evidence)
			}
			continue
		}
		ok := primary.add(d.PrimaryCause == w.Primary)
		if !ok {
			t.Logf("%s: want %s, got %s (%.2f): %v", id, w.Primary, d.PrimaryCause, d.CauseConfidence, d.Evidence)
		}
		bin := min(4, int(d.CauseConfidence*5))
		b := bins[bin]
		b[0] += d.CauseConfidence
		if ok {
			b[1]++
		}
		bins[bin] = b
		check := func(s *score, what string, good bool) {
			if !s.add(good) {
				t.Logf("%s: wrong %s", id, what)
			}
		}
		if len(w.Evidence) > 0 {
			check(&evidence, "evidence", proves(w, d))
		}
		if w.Rank != nil {
			check(&rank, "rank", d.FailingRank != nil && *d.FailingRank == *w.Rank)
		}
		if w.Step != nil {
			got := int64(0)
			if d.LastProgress.Step != nil {
				got = *d.LastProgress.Step
			}
			check(&step, "step", got == *w.Step)
		}
		check(&status, "status "+string(d.RunStatus)+" for "+string(w.Status), d.RunStatus == w.Status)
		if len(w.Tasks) > 0 {
			check(&tasks, "tasks", d.Pipeline != nil && strings.Join(w.Tasks, ",") == strings.Join(d.Pipeline.FailedTasks, ","))
		}
	}
	ece := 0.0
	for _, b := range bins {
		ece += math.Abs(b[0]-b[1]) / float64(primary.asked)
	}
	t.Logf("accuracy %.3f evidence %.3f rank %.3f step %.3f status %.3f tasks %.3f ece %.3f", primary.rate(), evidence.rate(), rank.rate(), step.rate(), status.rate(), tasks.rate(), ece)
	for _, floor := range []struct {
		what string
		s    score
		min  float64
	}{{"accuracy", primary, 0.95}, {"evidence", evidence, 0.90}, {"rank", rank, 0.90}, {"step", step, 0.95}, {"status", status, 0.95}} {
		if floor.s.rate() < floor.min {
			t.Errorf("%s %.3f: want at least %.2f", floor.what, floor.s.rate(), floor.min)
		}
	}
	if ece > 0.06 {
		t.Errorf("expected calibration error %.3f: want at most 0.06", ece)
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
