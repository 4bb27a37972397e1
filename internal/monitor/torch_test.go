//go:build unix

package monitor_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
	sourceall "github.com/trainmedic/trainmedic/internal/source/all"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

// torchWatch is a real run that is started and watched, and what must be told.
type torchWatch struct {
	scenario string
	ranks    int                  // 0: no launcher
	want     []report.AnomalyType // one of these
	before   report.AnomalyType   // and this, before it happens
	state    report.TerminalState
	decision report.Decision
	ends     bool // by itself; else the test ends it
}

var torchWatches = []torchWatch{
	{scenario: "ok", state: report.StateSucceeded, decision: report.Go, ends: true},
	{scenario: "nan", want: []report.AnomalyType{report.AnomalyNaNInf}, state: report.StateSucceeded, decision: report.Conditional, ends: true},
	{scenario: "diverge", want: []report.AnomalyType{report.AnomalyDivergence}, state: report.StateSucceeded, decision: report.Conditional, ends: true},
	{scenario: "raise", want: []report.AnomalyType{report.AnomalyDataError, report.AnomalyCrash}, state: report.StateFailed, decision: report.NoGo, ends: true},
	{scenario: "sigkill", want: []report.AnomalyType{report.AnomalyCrash, report.AnomalyOOM}, state: report.StateFailed, decision: report.NoGo, ends: true},
	{scenario: "host-oom", want: []report.AnomalyType{report.AnomalyOOM}, state: report.StateFailed, decision: report.NoGo, ends: true},
	{scenario: "cgroup-oom", want: []report.AnomalyType{report.AnomalyOOM}, state: report.StateFailed, decision: report.NoGo, ends: true},
	{scenario: "disk-full", want: []report.AnomalyType{report.AnomalyCheckpointFailure}, state: report.StateFailed, decision: report.NoGo, ends: true},
	{scenario: "disk-fills", want: []report.AnomalyType{report.AnomalyCheckpointFailure}, before: report.AnomalyDiskFilling, state: report.StateFailed, decision: report.NoGo, ends: true},
	{scenario: "slow", want: []report.AnomalyType{report.AnomalySlowThroughput}, state: report.StateSucceeded, decision: report.Go, ends: true},
	{scenario: "loader-hang", want: []report.AnomalyType{report.AnomalyStalled}, state: report.StateFailed, decision: report.NoGo},
	{scenario: "hang", ranks: 2, want: []report.AnomalyType{report.AnomalyStalled, report.AnomalyDistributedError}, state: report.StateFailed, decision: report.NoGo, ends: true},
}

// TestTorch starts real PyTorch runs and watches them. It needs a python with
// torch.
func TestTorch(t *testing.T) {
	if testing.Short() {
		t.Skip("starts twelve PyTorch runs")
	}
	python := torchPython(t)
	for _, w := range torchWatches {
		t.Run(w.scenario, func(t *testing.T) {
			dir := t.TempDir()
			if w.scenario == "disk-fills" {
				smallDisk(t, dir)
			}
			t.Chdir(dir)
			t.Setenv("STEP_SECONDS", "0.12")
			t.Setenv("OMP_NUM_THREADS", "1")
			t.Setenv("GLOO_SOCKET_IFNAME", "lo")
			w.watch(t, python, dir)
		})
	}
}

// smallDisk mounts a file system of 18 MB on a folder.
func smallDisk(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=18m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("no file system of its own (needs the right to mount): %v: %s", err, out)
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
}

func torchPython(t *testing.T) string {
	t.Helper()
	python := cmp.Or(os.Getenv("TRAINMEDIC_TORCH_PYTHON"), "/usr/bin/python3")
	if err := exec.Command(python, "-c", "import torch").Run(); err != nil {
		t.Skipf("%s cannot import torch (install python3-torch or set TRAINMEDIC_TORCH_PYTHON): %v", python, err)
	}
	return python
}

// scripts are found before a test changes its folder.
var scripts, _ = filepath.Abs("../diagnose/testdata/torch")

func (w *torchWatch) watch(t *testing.T, python, dir string) {
	t.Helper()
	args := []string{python, filepath.Join(scripts, "train.py"), w.scenario}
	if w.ranks > 0 {
		args = []string{python, filepath.Join(scripts, "launch.py"), "--nproc_per_node", fmt.Sprint(w.ranks), "--master_addr", "127.0.0.1", "--master_port", fmt.Sprint(freePort(t)), args[1], w.scenario}
	}
	src, err := sourceall.Start(t.Context(), source.Launch{Args: args, Dir: dir, LogDir: t.TempDir()}, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	kill := func() { syscall.Kill(-src.PID(), syscall.SIGKILL) }
	defer kill()
	if w.scenario == "cgroup-oom" {
		sourcetest.LimitMemory(t, src.PID(), 700<<20)
	}
	m := newMonitor(t, sourceall.Kinds())
	watch := m.Attach(monitor.Request{Interval: 500 * time.Millisecond, NoBackoff: true}, src)
	defer watch.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	var end *report.WatchReport
	for end == nil {
		u, err := watch.Next(ctx)
		if err != nil {
			t.Fatalf("%v; told: %v", err, types(watch.Open()))
		}
		for _, l := range u.Lines {
			t.Log(l)
		}
		if !w.ends && slices.ContainsFunc(watch.Open(), func(a report.Anomaly) bool { return a.Grave() }) {
			kill()
		}
		end = u.End
	}
	w.check(t, end)
	if _, err := watch.Next(ctx); !errors.Is(err, monitor.ErrEnded) {
		t.Errorf("after the end: %v", err)
	}
}

func (w *torchWatch) check(t *testing.T, r *report.WatchReport) {
	t.Helper()
	if r.TerminalState != w.state || r.Decision != w.decision {
		t.Errorf("want %s and %s, got %s and %s: %s", w.state, w.decision, r.TerminalState, r.Decision, r.StopReason)
	}
	got := types(r.Anomalies)
	if !slices.ContainsFunc(got, func(a report.AnomalyType) bool { return slices.Contains(w.want, a) }) && len(w.want) > 0 || len(w.want) == 0 && len(got) > 0 {
		t.Errorf("want one of %v, got %v", w.want, got)
	}
	if i := slices.Index(got, w.before); w.before != "" && (i < 0 || i > slices.Index(got, w.want[0])) {
		t.Errorf("want %s before %s, got %v", w.before, w.want[0], got)
	}
	if w.state == report.StateSucceeded && r.TotalSteps != 60 {
		t.Errorf("want 60 steps, got %d", r.TotalSteps)
	}
}

func types(all []report.Anomaly) []report.AnomalyType {
	var out []report.AnomalyType
	for _, a := range all {
		out = append(out, a.Type)
	}
	return out
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

// TestARankIsKilled kills one rank of a real run of two that is watched by the
// PID of its launcher: the watch says which one it was.
func TestARankIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a PyTorch run")
	}
	python := torchPython(t)
	dir := t.TempDir()
	t.Setenv("STEP_SECONDS", "0.12")
	t.Setenv("OMP_NUM_THREADS", "1")
	t.Setenv("GLOO_SOCKET_IFNAME", "lo")
	ranks, err := sourceall.Start(t.Context(), source.Launch{Args: []string{
		python, filepath.Join(scripts, "launch.py"), "--nproc_per_node", "2", "--master_addr", "127.0.0.1", "--master_port", fmt.Sprint(freePort(t)),
		filepath.Join(scripts, "train.py"), "ok",
	}, Dir: dir, LogDir: t.TempDir()}, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ranks.Close()
	defer syscall.Kill(-ranks.PID(), syscall.SIGKILL)
	watch, err := newMonitor(t, sourceall.Kinds()).Open(t.Context(), monitor.Request{Target: fmt.Sprintf("pid:%d", ranks.PID()), Interval: 300 * time.Millisecond, NoBackoff: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	killed, said := 0, ""
	for looks := 0; said == "" && looks < 200; looks++ {
		u, err := watch.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range u.Events {
			if killed > 0 && e.Anomaly != nil && e.Anomaly.Type == report.AnomalyCrash {
				said = e.Anomaly.Description
			}
		}
		if u.End != nil && said == "" {
			t.Fatalf("the watch ended: %s", u.End.StopReason)
		}
		if killed == 0 && u.Live.Step >= 5 {
			if killed = childOfRank(t, ranks.PID(), 1); killed > 0 {
				syscall.Kill(killed, syscall.SIGKILL)
			}
		}
	}
	if want := fmt.Sprintf("process %d of rank 1 was ended by SIGKILL", killed); !strings.Contains(said, want) {
		t.Errorf("want %q, got %q", want, said)
	}
}

// childOfRank is the child of a launcher that was told a rank.
func childOfRank(t *testing.T, launcher, rank int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", launcher, launcher))
	if err != nil {
		t.Skip(err)
	}
	for child := range strings.FieldsSeq(string(b)) {
		env, _ := os.ReadFile("/proc/" + child + "/environ")
		if slices.Contains(strings.Split(string(env), "\x00"), fmt.Sprintf("RANK=%d", rank)) {
			n, _ := strconv.Atoi(child)
			return n
		}
	}
	return 0
}
