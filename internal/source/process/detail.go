package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v3/process"
)

// argsOf is the command line of a process; that of a kernel thread is empty.
func argsOf(pid int) []string {
	if b, err := os.ReadFile(procFile(pid, "cmdline")); err == nil {
		b = bytes.TrimRight(b, "\x00 ")
		if len(b) == 0 {
			return nil
		}
		return strings.Split(string(b), "\x00")
	}
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return nil
	}
	args, _ := p.CmdlineSlice()
	return args
}

// startOf is when a process began, the zero time if that cannot be had.
func startOf(pid int) time.Time {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return time.Time{}
	}
	ms, err := p.CreateTime()
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC().Truncate(time.Second)
}

// cwdOf and userOf are "" when they cannot be had: it is another user's.
func cwdOf(pid int) string {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return ""
	}
	cwd, _ := p.Cwd()
	return strings.TrimSuffix(cwd, " (deleted)")
}

func userOf(pid int) string {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return ""
	}
	name, _ := p.Username()
	return name
}

// ownedBy reports whether a user may know how a zombie ended; of others' the
// kernel says 0.
func ownedBy(pid, uid int) bool {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return false
	}
	uids, err := p.Uids()
	return err == nil && (uid == 0 || len(uids) > 0 && int(uids[0]) == uid)
}

// wchanOf is where in the kernel a process waits.
func wchanOf(pid int) string {
	b, err := os.ReadFile(procFile(pid, "wchan"))
	if w := strings.TrimSpace(string(b)); err == nil && w != "0" {
		return w
	}
	return ""
}

// environ is what a process was started with, nil if this user may not know it.
func environ(pid int) map[string]string {
	b, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return nil
	}
	out := map[string]string{}
	for v := range strings.SplitSeq(string(b), "\x00") {
		if name, value, ok := strings.Cut(v, "="); ok {
			out[name] = value
		}
	}
	return out
}

// cgroup is where the memory of a process's cgroup is accounted.
type cgroup struct {
	dir string
	v1  bool
}

const cgroupfs = "/sys/fs/cgroup"

// cgroupOf finds the cgroup of a process, the zero value if there is none. A
// hybrid host has a v2 line and accounts memory in v1.
func cgroupOf(pid int) (c cgroup) {
	b, err := os.ReadFile(procFile(pid, "cgroup"))
	if err != nil {
		return c
	}
	for line := range strings.Lines(string(b)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, n := range []cgroup{{filepath.Join(cgroupfs, "memory", f[2]), true}, {filepath.Join(cgroupfs, f[2]), false}, {filepath.Join(cgroupfs, "memory"), true}, {cgroupfs, false}} {
			if fits := n.v1 && f[1] == "memory" || !n.v1 && f[0] == "0"; !fits {
				continue
			}
			if _, err := os.Stat(n.file("events")); err == nil && (c.dir == "" || n.v1) {
				return n // in a container the path of the host is not there, but its own root is
			}
		}
	}
	return c
}

func (c cgroup) file(what string) string {
	names := map[string][2]string{
		"events": {"memory.events", "memory.oom_control"}, "max": {"memory.max", "memory.limit_in_bytes"}, "current": {"memory.current", "memory.usage_in_bytes"},
	}
	if c.v1 {
		return filepath.Join(c.dir, names[what][1])
	}
	return filepath.Join(c.dir, names[what][0])
}

// number reads one number; an unlimited limit is none.
func (c cgroup) number(what string) (int64, bool) {
	b, err := os.ReadFile(c.file(what))
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n, err == nil && n < 1<<60
}

// kills is how often the kernel ended a process of the cgroup for want of memory.
func (c cgroup) kills() (int, bool) {
	b, err := os.ReadFile(c.file("events"))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "oom_kill" {
			n, err := strconv.Atoi(f[1])
			return n, err == nil
		}
	}
	return 0, false
}
