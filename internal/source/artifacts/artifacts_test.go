package artifacts_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/artifacts"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

var update = flag.Bool("update", false, "rewrite the wanted output in testdata")

func open(t *testing.T, dir string, opt source.Options) source.Source {
	t.Helper()
	s, err := artifacts.Kind().Open(t.Context(), dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// unpack writes all files of an archive but the wanted output.
func unpack(t *testing.T, ar *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range ar.Files {
		if f.Name != "want" {
			write(t, filepath.Join(dir, f.Name), string(f.Data))
		}
	}
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Each archive is a directory and, in "want", what is seen in it. Rewrite with
// go test ./internal/source/artifacts -update.
func TestDirectories(t *testing.T) {
	names, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no test data", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var opt source.Options
			if strings.Contains(name, "labels") {
				opt.LabelColumn = "label"
			}
			dir := unpack(t, ar)
			obs, err := open(t, dir, opt).Observe(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, name, ar, describe(t, obs))
			sourcetest.Run(t, func(t *testing.T) source.Source { return open(t, dir, opt) })
		})
	}
}

func compare(t *testing.T, name string, ar *txtar.Archive, got string) {
	t.Helper()
	last := len(ar.Files) - 1
	if *update {
		if ar.Files[last].Name != "want" {
			ar.Files = append(ar.Files, txtar.File{Name: "want"})
			last++
		}
		ar.Files[last].Data = []byte(got)
		if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(ar.Files[last].Data), got); diff != "" {
		t.Errorf("%s; if it should be so, run the test with -update", diff)
	}
}

func describe(t *testing.T, obs run.Observation) string {
	var b strings.Builder
	for _, s := range obs.Streams {
		fmt.Fprintf(&b, "stream %s %s rank %d, %d lines\n", s.Kind, s.Name, s.Rank, strings.Count(sourcetest.Text(t, s), "\n"))
	}
	for _, f := range obs.Facts {
		if f.From.File == "" {
			continue // of the host
		}
		fmt.Fprintf(&b, "fact %s = %s (%s)\n", f.Key, f.Value, f.From)
	}
	for _, s := range obs.Samples {
		fmt.Fprintf(&b, "sample %s %d %v (%s)\n", s.Name, s.Step, s.Value, s.Ref)
	}
	for _, c := range obs.Checkpoints {
		ok := "unknown"
		if c.Complete != nil {
			ok = strconv.FormatBool(*c.Complete)
		}
		fmt.Fprintf(&b, "checkpoint %s %s step %d complete %s: %s (%s)\n", c.Format, c.Path, c.Step, ok, c.Why, c.Ref)
	}
	for _, p := range obs.Processes {
		fmt.Fprintf(&b, "process %d %d %q %q %q cpu %v (%s)\n", p.PID, p.PPID, p.State, p.WChan, p.Command, p.CPU, p.Ref)
	}
	if p := obs.Pipeline; p != nil {
		fmt.Fprintf(&b, "%s %s %s: %s (%s)\n", p.Kind, p.Name, p.State, p.Error, p.Ref)
		for _, k := range p.Tasks {
			fmt.Fprintf(&b, "task %s %s %s: %s start %s end %s (%s)\n", k.Name, k.State, k.Job, k.Error, hour(k.Start), hour(k.End), k.Ref)
		}
	}
	for _, g := range obs.Gaps {
		fmt.Fprintf(&b, "gap %s: %s; %s\n", g.What, g.Why, g.Ask)
	}
	return b.String()
}

func hour(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Format(time.TimeOnly)
}

func TestParquetLabels(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"all", "brotli"} {
		b, err := os.ReadFile(filepath.Join("parquet", "testdata", name+".parquet"))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, "data", name+".parquet"), string(b))
		write(t, filepath.Join(dir, "data", "cut.parquet"), string(b[:len(b)-20]))
	}
	write(t, filepath.Join(dir, "run.log"), "step 1\n")
	write(t, filepath.Join(dir, "config.json"), `{"num_labels": 4}`)
	opt := source.Options{LabelColumn: "label"}
	obs, err := open(t, dir, opt).Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `stream log run.log rank -1, 1 lines
fact config.num_labels = 4 (config.json:1)
fact labels.label.min = 0 (data/all.parquet)
fact labels.label.max = 4 (data/all.parquet)
fact labels.label.missing = 1 (data/all.parquet)
fact labels.label.classes = 5 (data/all.parquet)
fact labels.label.problem = label in data/all.parquet: 1 of 50 rows have no label (data/all.parquet)
fact labels.label.problem = label in data/all.parquet: label 4 in row 5 is out of range: config.num_labels is 4, so labels are 0 to 3 (data/all.parquet)
fact labels.label.problem = label in data/all.parquet: feature leak equals the label in every row (data/all.parquet)
gap data/brotli.parquet: parquet: column label: it is compressed with brotli, which is not read here; a sample of the same rows as CSV or JSONL (a few thousand suffice)
gap data/cut.parquet: parquet: the file does not end as a Parquet file does; it was not written to its end or is damaged; a sample of the same rows as CSV or JSONL (a few thousand suffice)
`
	if diff := cmp.Diff(want, describe(t, obs)); diff != "" {
		t.Error(diff)
	}
	sourcetest.Run(t, func(t *testing.T) source.Source { return open(t, dir, opt) })
}

func TestPackedRun(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "run7.tar.gz"), "\x1f\x8b\x08")
	_, err := open(t, dir, source.Options{}).Observe(t.Context(), nil)
	if !errors.Is(err, source.ErrNoEvidence) || !strings.Contains(fmt.Sprint(err), "unpack it (tar -xzf run7.tar.gz), then pass the directory") {
		t.Errorf("got %v", err)
	}
}

func TestNothingToSee(t *testing.T) {
	base := t.TempDir()
	empty := filepath.Join(base, "empty")
	os.Mkdir(empty, 0o755)
	locked := filepath.Join(base, "locked")
	os.Mkdir(locked, 0o755)
	write(t, filepath.Join(base, "pictures", "a.png"), "\x89PNG\r\n\x1a\n")
	write(t, filepath.Join(base, "file.log"), "x")
	write(t, filepath.Join(locked, "run.log"), "x")
	os.Chmod(locked, 0)
	t.Cleanup(func() { os.Chmod(locked, 0o755) })
	for _, c := range []struct {
		dir  string
		want error
	}{
		{"missing", source.ErrNotFound},
		{"empty", source.ErrNoEvidence},
		{"pictures", source.ErrNoEvidence},
		{"file.log", source.ErrBadTarget},
		{"locked", source.ErrDenied},
	} {
		t.Run(c.dir, func(t *testing.T) {
			if errors.Is(c.want, source.ErrDenied) && os.Getuid() == 0 {
				t.Skip("root may read everything")
			}
			s, err := artifacts.Kind().Open(t.Context(), filepath.Join(base, c.dir), source.Options{})
			if err == nil {
				defer s.Close()
				_, err = s.Observe(t.Context(), nil)
			}
			if !errors.Is(err, c.want) {
				t.Errorf("want %v, got %v", c.want, err)
			}
		})
	}
}

func TestWalkStaysInside(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "secret.log"), "outside")
	dir := filepath.Join(base, "run")
	write(t, filepath.Join(dir, "logs", "real.log"), "inside\n")
	write(t, filepath.Join(dir, ".git", "HEAD.log"), "x")
	write(t, filepath.Join(dir, "a/b/c/d/e/f/g/h/i/deep.log"), "x")
	for link, to := range map[string]string{
		"alias.log": "logs/real.log", "out.log": "../secret.log", "loop": ".", "self.log": "self.log", "abs.log": filepath.Join(base, "secret.log"),
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.log"), 0o600); err != nil {
		t.Skip(err)
	}
	obs, err := open(t, dir, source.Options{}).Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, s := range obs.Streams {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"logs/real.log"}, names); diff != "" {
		t.Error(diff)
	}
	if len(obs.Gaps) != 4 {
		t.Errorf("want gaps for the folder too deep, the two links that leave and the one that loops, got %+v", obs.Gaps)
	}
}

func TestHundredsOfRanks(t *testing.T) {
	dir := t.TempDir()
	for i := range 400 {
		write(t, filepath.Join(dir, fmt.Sprintf("rank%d.log", i)), "step 1\n")
	}
	write(t, filepath.Join(dir, "main.log"), strings.Repeat("step\n", 100))
	obs, err := open(t, dir, source.Options{}).Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(obs.Streams) != 401 || obs.Streams[0].Name != "main.log" {
		t.Errorf("got %d streams, first %s", len(obs.Streams), obs.Streams[0].Name)
	}
}

func TestLaterLooksGiveWhatIsNew(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "run.log"), "step 1\n")
	write(t, filepath.Join(dir, "metrics.csv"), "step,loss\n1,2.5\n")
	write(t, filepath.Join(dir, "trainer_state.json"), `{"global_step":1,"log_history":[{"loss":2.5,"step":1}]}`)
	s := open(t, dir, source.Options{})
	obs, err := s.Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "run.log"), "step 1\nstep 2\nst")
	write(t, filepath.Join(dir, "metrics.csv"), "acc,step,loss\n,1,2.5\n0.5,2,2.4\n")
	write(t, filepath.Join(dir, "trainer_state.json"), `{"global_step":2,"log_history":[{"loss":2.5,"step":1},{"loss":2.3,"step":2}]}`)
	obs, err = s.Observe(t.Context(), obs.Next)
	if err != nil {
		t.Fatal(err)
	}
	const want = `stream log run.log rank -1, 1 lines
fact trainer.global_step = 2 (trainer_state.json:1)
sample acc 2 0.5 (metrics.csv:3)
sample loss 2 2.4 (metrics.csv:3)
sample loss 2 2.3 (trainer_state.json:1)
`
	if diff := cmp.Diff(want, describe(t, obs)); diff != "" {
		t.Error(diff)
	}
}

func TestGrows(t *testing.T) {
	sourcetest.Grows(t, "train.log", func(t *testing.T, dir string) source.Source {
		return open(t, dir, source.Options{Watch: true})
	})
}

func TestWhatIsBeingWrittenWaits(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "run.log"), "step 1\n")
	s := open(t, dir, source.Options{Watch: true})
	obs, err := s.Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "checkpoint-5", "trainer_state.json")
	for _, c := range []struct{ text, want string }{
		{`{"global_step":5,"log_his`, ""},
		{`{"global_step":5,"log_history":[{"loss":2.5,"step":5}]}`, "fact trainer.global_step = 5 (checkpoint-5/trainer_state.json:1)\nsample loss 5 2.5 (checkpoint-5/trainer_state.json:1)\n"},
		{`{"global_step":5,"log_history":[{"loss":2.5,"step":5}]}`, ""},
	} {
		if old, _ := os.ReadFile(state); string(old) != c.text {
			write(t, state, c.text)
		}
		if obs, err = s.Observe(t.Context(), obs.Next); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, describe(t, obs)); diff != "" {
			t.Errorf("%s: %s", c.text, diff)
		}
	}
	hour := time.Now().Add(-time.Hour)
	os.Chtimes(state, hour, hour)
	write(t, state, `{"glob`)
	os.Chtimes(state, hour, hour)
	if obs, err = s.Observe(t.Context(), obs.Next); err != nil || len(obs.Gaps) == 0 {
		t.Errorf("a damaged file is not told: %+v, %v", obs, err)
	}
}

func TestARotatedLogInAFolderIsOneLog(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "logs", "train.log")
	write(t, log, strings.Repeat("step 1\n", 20))
	s := open(t, dir, source.Options{Watch: true})
	obs, err := s.Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	os.Rename(log, log+".1")
	write(t, log, "step 2\n")
	for i, want := range []string{
		"stream log logs/train.log rank -1, 1 lines\nfact log.event = rotated (logs/train.log)\n", "", "",
	} {
		if obs, err = s.Observe(t.Context(), obs.Next); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, describe(t, obs)); diff != "" {
			t.Errorf("look %d: %s", i, diff)
		}
	}
	os.Remove(log)
	os.Remove(log + ".1")
	if obs, err = s.Observe(t.Context(), obs.Next); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("fact log.event = vanished (logs/train.log)\nfact log.event = vanished (logs/train.log.1)\n", describe(t, obs)); diff != "" {
		t.Error(diff)
	}
}
