package process_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// cgroup makes a memory cgroup of 32 MB with a process in it, where the machine
// lets a test do that.
func cgroup(t *testing.T, pid int) {
	t.Helper()
	name := fmt.Sprintf("trainmedic-test-%d", os.Getpid())
	for _, c := range []struct{ root, limit string }{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		dir := filepath.Join(c.root, name)
		if _, err := os.Stat(filepath.Join(c.root, "cgroup.procs")); err != nil || os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		if set(filepath.Join(dir, c.limit), 32<<20) == nil && set(filepath.Join(dir, "cgroup.procs"), pid) == nil {
			return
		}
	}
	t.Skip("no memory cgroup can be made here")
}

// set writes a control file, which has to be there.
func set(path string, n int) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteString(strconv.Itoa(n))
	return err
}

func TestKilledForWantOfMemory(t *testing.T) {
	dir := t.TempDir()
	p := begin(t, dir, toLog)
	cgroup(t, p.Process.Pid)
	s := open(t, p.Process.Pid, source.Options{Watch: true})
	obs := look(t, s, nil)
	if value(obs, run.FactMemoryMax) != "33554432" || value(obs, run.FactOOMKills) != "0" || value(obs, run.FactMemoryNow) == "" {
		t.Errorf("%+v", obs.Facts)
	}
	fmt.Fprintln(p.in, "ulimit -v 1000000; exec tail /dev/zero") // which keeps what it reads until a line ends
	p.Wait()
	obs = look(t, s, obs.Next)
	if value(obs, run.FactState) != run.ProcessGone || value(obs, run.FactOOMKills) != "1" {
		t.Errorf("%+v", obs.Facts)
	}
}
