package sourcetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// LimitMemory makes a memory cgroup of that many bytes with a process in it, and
// skips the test where the machine lets no test do that.
func LimitMemory(t *testing.T, pid, limit int) {
	t.Helper()
	name := fmt.Sprintf("trainmedic-test-%d", pid)
	for _, c := range []struct{ root, limit string }{{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"}} {
		dir := filepath.Join(c.root, name)
		if _, err := os.Stat(filepath.Join(c.root, "cgroup.procs")); err != nil || os.Mkdir(dir, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			if err := os.Remove(dir); err != nil {
				t.Logf("a cgroup stays behind: %v", err) // a process of it lives a moment longer
			}
		})
		if set(filepath.Join(dir, c.limit), limit) == nil && set(filepath.Join(dir, "cgroup.procs"), pid) == nil {
			return
		}
	}
	t.Skip("no memory cgroup can be made here (needs the right to write to /sys/fs/cgroup)")
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
