package wandb_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	failures "github.com/trainmedic/trainmedic/internal/failure/all"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
	sourceall "github.com/trainmedic/trainmedic/internal/source/all"
)

// client is a Python that has W&B's own client.
func client(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	python := cmp.Or(os.Getenv("TRAINMEDIC_WANDB_PYTHON"), filepath.Join(cache, "trainmedic", "wandb-0.31.0", "bin", "python"))
	if _, err := os.Stat(python); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no W&B client: %v", err)
		}
		t.Skipf("no W&B client (run test/wandb.sh, or set TRAINMEDIC_WANDB_PYTHON): %v", err)
	}
	return python
}

// script is found before a test changes its folder.
var script, _ = filepath.Abs("testdata/train.py")

// start runs the script in a folder of its own; its log is train.log there, and
// what it printed besides is output.
func start(t *testing.T, args ...string) (dir string, cmd *exec.Cmd, output *bytes.Buffer) {
	t.Helper()
	dir, output = t.TempDir(), new(bytes.Buffer)
	cmd = exec.CommandContext(t.Context(), client(t), append([]string{script, filepath.Join(dir, "train.log")}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, output, output
	cmd.Env = append(os.Environ(), "WANDB_DIR="+dir, "WANDB_SILENT=true", "WANDB_API_KEY=", "PYTHONDONTWRITEBYTECODE=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return dir, cmd, output
}

func doctor(t *testing.T) *diagnose.Doctor {
	t.Helper()
	book, err := failures.Book()
	if err != nil {
		t.Fatal(err)
	}
	return &diagnose.Doctor{Book: book, Sources: sourceall.Kinds()}
}

func check(t *testing.T, target string) *report.Diagnosis {
	t.Helper()
	r, err := doctor(t).Diagnose(t.Context(), diagnose.Request{Target: target})
	if err != nil {
		t.Fatal(err)
	}
	return r.Diagnosis
}

// What the real client wrote of a failing run gives the diagnosis, the step and
// the metrics that its log gives.
func TestTheRealClientsRunIsDiagnosedAsItsLog(t *testing.T) {
	for _, how := range []string{"", "raise", "kill"} {
		t.Run("ends with "+how, func(t *testing.T) {
			dir, cmd, output := start(t, "400", "250", "0", how)
			if err := cmd.Wait(); (err != nil) != (how != "") {
				t.Fatalf("%v\n%s", err, output)
			}
			log, run := check(t, filepath.Join(dir, "train.log")), check(t, "wandb:"+dir)
			if log.PrimaryCause != report.NaNInf {
				t.Fatalf("the log's cause is %s", log.PrimaryCause)
			}
			type said struct {
				Cause report.Class
				Root  string
				Step  int64
				Loss  string
				Norm  string
				LR    string
			}
			words := func(d *report.Diagnosis) said {
				return said{d.PrimaryCause, d.RootCause, *d.LastProgress.Step, text(t, d.Metrics["loss"]), text(t, d.Metrics["grad_norm"]), text(t, d.Metrics["lr"])}
			}
			want, got := words(log), words(run)
			if how == "kill" { // the client keeps up to a block to itself, which dies with it
				if got.Step > want.Step || got.Step < 260 {
					t.Errorf("step %d, want about %d", got.Step, want.Step)
				}
				got.Step = want.Step
				counts := regexp.MustCompile(`"(?:nonfinite_)?count":\d+`)
				for _, m := range []*string{&want.Loss, &want.Norm, &want.LR, &got.Loss, &got.Norm, &got.LR} {
					*m = counts.ReplaceAllString(*m, "")
				}
			}
			if d := gocmp.Diff(want, got); d != "" {
				t.Errorf("the log's and W&B's (-want +got):\n%s", d)
			}
			if !strings.Contains(strings.Join(run.Evidence, "\n"), "loss = NaN at step 250") && how != "raise" {
				t.Errorf("evidence %q", run.Evidence)
			}
		})
	}
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A watch sees the NaN of a live writer with the first look after it was written.
func TestALiveRunIsFollowed(t *testing.T) {
	dir, cmd, output := start(t, "100000", "150", "0.01")
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	d := doctor(t)
	m := &monitor.Monitor{Book: d.Book, Sources: d.Sources, Conclude: d.Conclude}
	w, err := m.Open(ctx, monitor.Request{Target: "wandb:" + filepath.Join(dir, "wandb", "latest-run"), Interval: 300 * time.Millisecond, NoBackoff: true, Options: source.Options{Watch: true}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	told := false
	for !told {
		there := nanWritten(t, dir)
		u, err := w.Next(ctx)
		if err != nil || u.End != nil {
			t.Fatalf("%v, end %v\n%s", err, u.End, output)
		}
		for _, a := range w.Open() {
			if told = a.Type == report.AnomalyNaNInf; told && (a.Step == nil || *a.Step != 150) {
				t.Errorf("it began at step %v", a.Step)
			}
		}
		if there && !told {
			t.Errorf("the NaN was written before look %d, which did not tell it", u.Poll)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	<-ended
	for { // a killed run leaves no exit record, but its process is missing
		u, err := w.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if u.End != nil {
			if u.End.TerminalState != report.StateFailed {
				t.Errorf("it ended %s: %s", u.End.TerminalState, u.End.StopReason)
			}
			return
		}
	}
}

// nanWritten reports whether three NaN, which no skipped step explains, are in the log.
func nanWritten(t *testing.T, dir string) bool {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "wandb", "*run-*", "run-*.wandb"))
	if err != nil || len(logs) == 0 {
		return false
	}
	b, err := os.ReadFile(logs[0])
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Count(b, []byte("\x04loss\x82\x01\x03NaN")) >= 8 // in the summary too
}
