package process

import (
	"bytes"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v3/process"
)

// Known is a process as one who acts on it has to know it: its PID alone is not
// enough, since PIDs are used again.
type Known struct {
	PID, Parent int
	Start       string
	State       string // R, S, D, T, Z …
}

// Know looks at a process now.
func Know(pid int) (Known, error) {
	s, err := statOf(pid)
	return Known{s.pid, s.ppid, s.start, s.state}, err
}

// Lives reports whether it is still there, and not only as an entry that nobody
// has waited for.
func (k Known) Lives() bool {
	s, err := statOf(k.PID)
	return err == nil && s.start == k.Start && s.state != "Z" && s.state != "X"
}

// Below lists the processes below it, parents first.
func (k Known) Below() []Known {
	var out []Known
	for _, s := range family(stat{pid: k.PID})[1:] {
		out = append(out, Known{s.pid, s.ppid, s.start, s.state})
	}
	return out
}

// Above lists the PIDs of a process and of all that started it.
func Above(pid int) map[int]bool { return ancestors(pid) }

// Args is the command line of a process, its secrets too: it MUST NOT be told.
func Args(pid int) []string { return argsOf(pid) }

// Environ is the environment that a process was started with, its secrets too:
// it MUST NOT be told. It is nil where this user may not see it.
func Environ(pid int) []string {
	b, err := os.ReadFile(procFile(pid, "environ"))
	b = bytes.TrimRight(b, "\x00")
	if err != nil || len(b) == 0 {
		return nil
	}
	return strings.Split(string(b), "\x00")
}

// Cwd is where a process works, "" where that cannot be had.
func Cwd(pid int) string { return cwdOf(pid) }

// Program is the file that a process runs, "" where that cannot be had.
func Program(pid int) string {
	path, err := os.Readlink(procFile(pid, "exe"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(path, " (deleted)")
}

// Output is the file that the standard output of a process goes to; info is nil
// if it goes elsewhere.
func Output(pid int) (path string, info fs.FileInfo) {
	o := openAt(pid, "1")
	return o.path, o.info
}

// All lists the PIDs of this machine.
func All() []int {
	pids, _ := process.Pids() // none where there are none to see
	out := make([]int, len(pids))
	for i, p := range pids {
		out[i] = int(p)
	}
	slices.Sort(out)
	return out
}

// Writer finds the one run that writes to a file: of the processes that have it
// open for that the one that is above the others; 0 if there is none, or several
// that have nothing to do with each other.
func Writer(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	var found []candidate
	for _, pid := range All() {
		fds, err := os.ReadDir(procFile(pid, "fd"))
		if err != nil || pid == os.Getpid() {
			continue
		}
		for _, fd := range fds {
			if o := openAt(pid, fd.Name()); o.info != nil && os.SameFile(o.info, info) && writes(pid, fd.Name()) {
				if s, err := statOf(pid); err == nil {
					found = append(found, candidate{stat: s})
				}
				break
			}
		}
	}
	if found = topmost(found); len(found) != 1 {
		return 0
	}
	return found[0].pid
}
