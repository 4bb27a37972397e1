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
	for dir, limit := range map[string]string{
		filepath.Join("/sys/fs/cgroup/memory", name): "memory.limit_in_bytes", filepath.Join("/sys/fs/cgroup", name): "memory.max",
	} {
		if os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() { os.Remove(dir) })
		if os.WriteFile(filepath.Join(dir, limit), []byte("33554432"), 0) == nil &&
			os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0) == nil {
			return
		}
	}
	t.Skip("no memory cgroup can be made here")
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
	fmt.Fprintln(p.in, "exec tail /dev/zero") // which keeps what it reads until a line ends
	p.Wait()
	obs = look(t, s, obs.Next)
	if value(obs, run.FactState) != run.ProcessGone || value(obs, run.FactOOMKills) != "1" {
		t.Errorf("%+v", obs.Facts)
	}
}
