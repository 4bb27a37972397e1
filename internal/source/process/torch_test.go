package process_test

import (
	"bufio"
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// torchrun starts a real run of two ranks that print steps, and returns when both
// do. It needs a python with torch.
func torchrun(t *testing.T) (launcher int, log string) {
	t.Helper()
	python := cmp.Or(os.Getenv("TRAINMEDIC_TORCH_PYTHON"), "/usr/bin/python3")
	if err := exec.Command(python, "-c", "import torch").Run(); err != nil {
		t.Skipf("%s cannot import torch (install python3-torch or set TRAINMEDIC_TORCH_PYTHON): %v", python, err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	l.Close()
	scripts, _ := filepath.Abs("../../diagnose/testdata/torch")
	log = filepath.Join(t.TempDir(), "train.log")
	out, err := os.Create(log)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(python, filepath.Join(scripts, "launch.py"), "--nproc_per_node", "2", "--master_addr", "127.0.0.1", "--master_port", fmt.Sprint(port),
		filepath.Join(scripts, "train.py"), "ok")
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Dir(log), out, out
	cmd.Env = append(os.Environ(), "OMP_NUM_THREADS=1", "GLOO_SOCKET_IFNAME=lo", "STEP_SECONDS=0.5", "PYTHONUNBUFFERED=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); cmd.Wait() })
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); {
		if b, _ := os.ReadFile(log); strings.Contains(string(b), "step 1") {
			return cmd.Process.Pid, log
		}
		if err := syscall.Kill(cmd.Process.Pid, 0); err != nil {
			break
		}
		<-time.After(50 * time.Millisecond)
	}
	b, _ := os.ReadFile(log)
	t.Fatalf("the run printed no step:\n%s", b)
	return 0, ""
}

// TestTorchrun looks at a real run of two ranks, kills one, and holds that the
// next look says which.
func TestTorchrun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a PyTorch run")
	}
	pid, log := torchrun(t)
	s := open(t, pid, source.Options{Watch: true})
	obs := look(t, s, nil)
	ranks := map[int]run.Process{}
	for _, p := range obs.Processes {
		if p.Rank != nil {
			ranks[*p.Rank] = p
		}
	}
	for rank := range 2 {
		p := ranks[rank]
		if p.PID == 0 || p.PPID != pid || p.RSS < 50<<20 || !strings.ContainsAny(p.State, "RSD") || !strings.Contains(p.Command, "train.py") {
			t.Errorf("rank %d is %+v of %+v", rank, p, obs.Processes)
		}
	}
	if got := text(t, obs); !strings.HasPrefix(got, filepath.Base(log)+": ") || !strings.Contains(got, "step 1") {
		t.Errorf("the log is %q", got)
	}
	if err := syscall.Kill(ranks[1].PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	await(t, ranks[1].PID, "Z")
	obs = look(t, s, obs.Next)
	want := fmt.Sprintf(" process %d of rank 1 was ended by SIGKILL while the run goes on", ranks[1].PID)
	if got := text(t, obs); !hasLine(got, want) {
		t.Errorf("want a line %q, got %q", want, got)
	}
	if obs = look(t, s, obs.Next); strings.Contains(text(t, obs), want) {
		t.Error("told again")
	}
}

func hasLine(text, end string) bool {
	for sc := bufio.NewScanner(strings.NewReader(text)); sc.Scan(); {
		if strings.HasSuffix(sc.Text(), end) {
			return true
		}
	}
	return false
}
