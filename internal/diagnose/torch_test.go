//go:build unix

package diagnose_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/report"
)

// How a user starts a run and keeps what it prints.
const (
	alone  = "alone"  // one process, into train.log
	silent = "silent" // the same, but no shell stays to say how it ended
	teed   = "teed"   // torchrun --tee 3: one log with the prefix [default1]:
	split  = "split"  // torchrun --redirects 3 --log_dir: a log for each rank
	mixed  = "mixed"  // torchrun with two ranks in one log without a prefix
)

// torchRun is a real process that fails and what must be said of it. Nothing
// but train.py decides the truth: the last rank fails, in step 31.
type torchRun struct {
	scenario, how string
	class         report.Class
	also          report.Class // as right as class
	status        report.RunStatus
	rank          int // -1: the evidence cannot tell, so nothing may be said
	step          int64
	signal        string
	proof         string // in the first piece of evidence
	best          string
}

const last = 1 // the failing one of two ranks

var torchRuns = []torchRun{
	{scenario: "ok", how: alone, class: report.None, status: report.Healthy, rank: -1, step: 60},
	{scenario: "raise", how: alone, class: report.DataPipeline, also: report.Config, status: report.Crashed, rank: -1, step: 30, proof: "label 1", best: "checkpoint-20.pt"},
	{scenario: "loader-raise", how: alone, class: report.DataPipeline, status: report.Crashed, rank: -1, step: 30, proof: "KeyError", best: "checkpoint-20.pt"},
	{scenario: "loader-killed", how: alone, class: report.Crash, also: report.OOM, status: report.Crashed, rank: -1, step: 30, proof: "DataLoader worker", best: "checkpoint-20.pt"},
	{scenario: "ragged", how: alone, class: report.DataPipeline, status: report.Crashed, rank: -1, step: 30, proof: "stack expects each tensor to be equal size", best: "checkpoint-20.pt"},
	{scenario: "ragged-worker", how: alone, class: report.DataPipeline, status: report.Crashed, rank: -1, step: 30, proof: "not resizable", best: "checkpoint-20.pt"},
	{scenario: "missing-module", how: alone, class: report.Config, status: report.Crashed, rank: -1, proof: "ModuleNotFoundError"},
	{scenario: "shape", how: alone, class: report.Config, status: report.Crashed, rank: -1, proof: "mat1 and mat2"},
	{scenario: "diverge", how: alone, class: report.Divergence, status: report.Diverged, rank: -1, step: 60, best: "checkpoint-20.pt"},
	{scenario: "nan", how: alone, class: report.NaNInf, status: report.Diverged, rank: -1, step: 60, proof: "nan", best: "checkpoint-20.pt"},
	{scenario: "sigkill", how: alone, class: report.Crash, also: report.OOM, status: report.Crashed, rank: -1, step: 30, signal: "SIGKILL", proof: "Killed", best: "checkpoint-20.pt"},
	{scenario: "sigkill", how: silent, class: report.None, also: report.Unknown, rank: -1, step: 30},
	{scenario: "segfault", how: alone, class: report.Crash, status: report.Crashed, rank: -1, step: 30, signal: "SIGSEGV", proof: "Segmentation fault", best: "checkpoint-20.pt"},
	{scenario: "sigterm", how: alone, class: report.Crash, also: report.Unknown, status: report.Crashed, rank: -1, step: 30, best: "checkpoint-20.pt"},
	{scenario: "host-oom", how: alone, class: report.OOM, status: report.Crashed, rank: -1, step: 30, proof: "can't allocate memory", best: "checkpoint-20.pt"},
	{scenario: "disk-full", how: alone, class: report.IOCheckpoint, status: report.Crashed, rank: -1, step: 40, proof: "file write failed", best: "checkpoint-20.pt"},
	{scenario: "resume-torn", how: alone, class: report.IOCheckpoint, status: report.Crashed, rank: -1, step: 40, proof: "failed finding central directory"},
	{scenario: "resume-torn-short", how: alone, class: report.IOCheckpoint, status: report.Crashed, rank: -1, step: 40, proof: "OSError"},

	{scenario: "ok", how: teed, class: report.None, status: report.Healthy, rank: -1, step: 60},
	{scenario: "ok", how: split, class: report.None, status: report.Healthy, rank: -1, step: 60},
	{scenario: "raise", how: teed, class: report.DataPipeline, also: report.Config, status: report.Crashed, rank: last, step: 30, proof: "label 1", best: "checkpoint-20.pt"},
	{scenario: "raise", how: split, class: report.DataPipeline, also: report.Config, status: report.Crashed, rank: last, step: 30, proof: "label 1", best: "checkpoint-20.pt"},
	{scenario: "raise", how: mixed, class: report.DataPipeline, also: report.Config, status: report.Crashed, rank: -1, step: 30, proof: "label 1", best: "checkpoint-20.pt"},
	{scenario: "sigkill", how: teed, class: report.Crash, also: report.OOM, status: report.Crashed, rank: last, step: 30, signal: "SIGKILL", best: "checkpoint-20.pt"},
	{scenario: "sigkill", how: split, class: report.Crash, also: report.OOM, status: report.Crashed, rank: last, step: 30, signal: "SIGKILL", best: "checkpoint-20.pt"},
	{scenario: "sigkill", how: mixed, class: report.Crash, also: report.OOM, status: report.Crashed, rank: last, step: 30, signal: "SIGKILL", best: "checkpoint-20.pt"},
	{scenario: "hang", how: teed, class: report.NCCL, also: report.Stalled, status: report.Crashed, rank: last, step: 30, proof: "Timed out waiting", best: "checkpoint-20.pt"},
	{scenario: "hang", how: split, class: report.NCCL, also: report.Stalled, status: report.Crashed, rank: last, step: 30, proof: "Timed out waiting", best: "checkpoint-20.pt"},
	{scenario: "hang", how: mixed, class: report.NCCL, also: report.Stalled, status: report.Crashed, rank: last, step: 30, proof: "Timed out waiting", best: "checkpoint-20.pt"},
	{scenario: "mismatch", how: teed, class: report.NCCL, status: report.Crashed, rank: last, step: 30, proof: "op.preamble.length <= op.nbytes", best: "checkpoint-20.pt"},
	{scenario: "mismatch", how: split, class: report.NCCL, status: report.Crashed, rank: last, step: 30, proof: "op.preamble.length <= op.nbytes", best: "checkpoint-20.pt"},
	{scenario: "mismatch", how: mixed, class: report.NCCL, status: report.Crashed, rank: last, step: 30, proof: "op.preamble.length <= op.nbytes", best: "checkpoint-20.pt"},
	{scenario: "shape-one-rank", how: teed, class: report.Config, status: report.Crashed, rank: last, step: 30, proof: "mat1 and mat2", best: "checkpoint-20.pt"},
	{scenario: "shape-one-rank", how: split, class: report.Config, status: report.Crashed, rank: last, step: 30, proof: "mat1 and mat2", best: "checkpoint-20.pt"},
	{scenario: "shape-one-rank", how: mixed, class: report.Config, status: report.Crashed, rank: -1, step: 30, proof: "mat1 and mat2", best: "checkpoint-20.pt"},
}

// TestTorch runs real PyTorch processes until they fail and diagnoses the
// directory that each leaves behind. It needs a python with torch.
func TestTorch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts three dozen PyTorch processes")
	}
	python := torchPython(t)
	doctor := newDoctor(t)
	for _, r := range torchRuns {
		t.Run(r.scenario+"/"+r.how, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			r.start(t, python, dir)
			res, err := doctor.Diagnose(t.Context(), diagnose.Request{Target: dir})
			if err != nil {
				t.Fatal(err)
			}
			r.check(t, res.Diagnosis)
			if t.Failed() {
				t.Logf("%s", leftBehind(dir))
			}
		})
	}
}

// torchPython is an interpreter that can import torch.
func torchPython(t *testing.T) string {
	t.Helper()
	python := cmp.Or(os.Getenv("TRAINMEDIC_TORCH_PYTHON"), "/usr/bin/python3")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, "-c", "import torch; print(torch.__version__)").CombinedOutput()
	if err != nil {
		t.Skipf("%s cannot import torch (install python3-torch or set TRAINMEDIC_TORCH_PYTHON): %v: %s", python, err, lastLine(out))
	}
	t.Logf("torch %s", lastLine(out))
	return python
}

func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return lines[len(lines)-1]
}

// start runs the scenario to its end, as a user's run.sh would, with all output
// in train.log of dir.
func (r torchRun) start(t *testing.T, python, dir string) {
	t.Helper()
	scripts, err := filepath.Abs("testdata/torch")
	if err != nil {
		t.Fatal(err)
	}
	train := fmt.Sprintf("%s %s/train.py %s", python, scripts, r.scenario)
	ranks := fmt.Sprintf("%s %s/launch.py --nproc_per_node 2 --master_addr 127.0.0.1 --master_port %d", python, scripts, freePort(t))
	script := map[string]string{
		alone:  train + "\nexit $?",
		silent: "exec " + train,
		teed:   fmt.Sprintf("%s --tee 3 --log_dir %s %s/train.py %s", ranks, t.TempDir(), scripts, r.scenario),
		split:  fmt.Sprintf("%s --redirects 3 --log_dir logs %s/train.py %s", ranks, scripts, r.scenario),
		mixed:  fmt.Sprintf("%s %s/train.py %s", ranks, scripts, r.scenario),
	}[r.how]
	path := filepath.Join(t.TempDir(), "run.sh")
	if err := os.WriteFile(path, []byte(script+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "train.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", path)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	cmd.Env = append(os.Environ(), "GLOO_SOCKET_IFNAME=lo", "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	err = cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s did not end: %v", r.scenario, ctx.Err())
	}
	if good := slices.Contains([]string{"ok", "nan", "diverge"}, r.scenario); good != (err == nil) {
		t.Fatalf("%s ended with %v\n%s", r.scenario, err, leftBehind(dir))
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

func (r torchRun) check(t *testing.T, d *report.Diagnosis) {
	t.Helper()
	if d.PrimaryCause != r.class && (r.also == "" || d.PrimaryCause != r.also) {
		t.Errorf("class: want %s, got %s (%.2f): %s", r.class, d.PrimaryCause, d.CauseConfidence, d.RootCause)
	}
	if r.status != "" && d.RunStatus != r.status {
		t.Errorf("run_status: want %s, got %s", r.status, d.RunStatus)
	}
	// In one log of two ranks the launcher sometimes names them both, sometimes, when
	// it was quick to end the other, only the one that failed.
	if got := or(d.FailingRank, -1); got != r.rank && !(r.how == mixed && r.rank < 0 && got == last) {
		t.Errorf("failing_rank: want %d, got %d", r.rank, got)
	}
	if got := or(d.LastProgress.Step, 0); got != r.step {
		t.Errorf("last step: want %d, got %d", r.step, got)
	}
	if got := or(d.Signal, ""); r.signal != "" && got != r.signal {
		t.Errorf("signal: want %s, got %q", r.signal, got)
	}
	if got := or(d.BestCheckpoint, ""); r.best != "" && got != r.best {
		t.Errorf("best_checkpoint: want %s, got %q", r.best, got)
	}
	if r.proof != "" && (len(d.EvidenceRefs) == 0 || !strings.Contains(d.EvidenceRefs[0].Text, r.proof)) {
		t.Errorf("proof: want a line with %q first, got %q", r.proof, d.Evidence)
	}
}

func or[T any](p *T, none T) T {
	if p == nil {
		return none
	}
	return *p
}

// leftBehind is the end of every log of a run.
func leftBehind(dir string) string {
	var b bytes.Buffer
	logs, _ := filepath.Glob(filepath.Join(dir, "logs", "*", "*", "*", "*.log"))
	for _, name := range append(logs, filepath.Join(dir, "train.log")) {
		text, _ := os.ReadFile(name)
		lines := strings.Split(string(text), "\n")
		fmt.Fprintf(&b, "%s:\n%s\n", name, strings.Join(lines[max(0, len(lines)-40):], "\n"))
	}
	return b.String()
}
