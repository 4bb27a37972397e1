package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v3/process"

	"github.com/trainmedic/trainmedic/internal/source"
)

// stat is what the kernel says of a process at a glance.
type stat struct {
	pid, ppid int
	name      string // at most 15 characters
	state     string // R, S, D, T, Z …
	start     string // when it began: with the PID its identity, since PIDs are used again
	rss       int64
	cpu       float64 // seconds that it used, and its children that it waited for
	exit      int     // the wait status of a zombie, -1 when this user may not know it
}

const procfs = "/proc"

// statOf reads a process. Linux says more, and at less cost, than is to be had
// everywhere.
func statOf(pid int) (stat, error) {
	b, err := os.ReadFile(procFile(pid, "stat"))
	if err == nil {
		return parseStat(pid, string(b))
	}
	if _, linux := os.Stat(filepath.Join(procfs, "self", "stat")); linux != nil {
		return portableStat(pid)
	}
	if alive, _ := process.PidExists(int32(pid)); alive || errors.Is(err, fs.ErrPermission) {
		return stat{}, fmt.Errorf("process: %d exists, but this user may not look at it; run as its owner or as root: %w", pid, source.ErrDenied)
	}
	return stat{}, notFound(pid)
}

func notFound(pid int) error {
	return fmt.Errorf("process: there is no process %d (any more); for what it left name its log or its folder: %w", pid, source.ErrNotFound)
}

func procFile(pid int, name ...string) string {
	return filepath.Join(append([]string{procfs, strconv.Itoa(pid)}, name...)...)
}

// parseStat reads /proc/PID/stat; the name, in parentheses, may hold anything.
func parseStat(pid int, text string) (stat, error) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return stat{}, fmt.Errorf("process: /proc/%d/stat is not as the kernel writes it", pid)
	}
	f := strings.Fields(text[end+1:]) // from field 3 on
	if len(f) < 22 {
		return stat{}, fmt.Errorf("process: /proc/%d/stat breaks off", pid)
	}
	number := func(field int) int64 {
		if field-3 >= len(f) {
			return -1
		}
		n, err := strconv.ParseInt(f[field-3], 10, 64)
		if err != nil {
			return -1
		}
		return n
	}
	return stat{
		pid: pid, name: text[open+1 : end], state: f[0], ppid: int(number(4)), start: f[22-3],
		rss: number(24) * int64(os.Getpagesize()), exit: int(number(52)),
		cpu: float64(number(14)+number(15)+number(16)+number(17)) / clockTicks,
	}, nil
}

// clockTicks is how many a second /proc counts in on Linux, whatever the kernel's own.
const clockTicks = 100

// portableStat reads a process where there is no /proc.
func portableStat(pid int) (stat, error) {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return stat{}, notFound(pid)
	}
	s := stat{pid: pid, exit: -1}
	made, err := p.CreateTime()
	if err != nil {
		return stat{}, notFound(pid)
	}
	s.start = strconv.FormatInt(made, 10)
	s.name, _ = p.Name() // what cannot be had is left out
	if ppid, err := p.Ppid(); err == nil {
		s.ppid = int(ppid)
	}
	if m, err := p.MemoryInfo(); err == nil {
		s.rss = int64(m.RSS)
	}
	if t, err := p.Times(); err == nil {
		s.cpu = t.User + t.System
	}
	if st, err := p.Status(); err == nil && len(st) > 0 {
		s.state = letters[st[0]]
	}
	return s, nil
}

// letters are the kernel's for gopsutil's words.
var letters = map[string]string{
	process.Running: "R", process.Sleep: "S", process.Blocked: "D", process.Stop: "T", process.Zombie: "Z", process.Idle: "I", process.Wait: "S", process.Lock: "S",
}

// family is a process and all below it, parents first, bounded.
func family(root stat) []stat {
	all := []stat{root}
	seen := map[int]bool{root.pid: true}
	for i := 0; i < len(all) && len(all) < maxFamily; i++ {
		for _, pid := range childrenOf(all[i].pid) {
			if s, err := statOf(pid); err == nil && !seen[pid] && s.ppid == all[i].pid {
				seen[pid] = true
				all = append(all, s)
			}
		}
	}
	return all
}

// maxFamily bounds how many processes of a run are looked at: eight ranks with
// some dozen loader workers each.
const maxFamily = 512

// childrenOf lists the PIDs of a process's children.
func childrenOf(pid int) (out []int) {
	threads, err := os.ReadDir(procFile(pid, "task"))
	if err != nil {
		return portableChildren(pid)
	}
	for _, t := range threads {
		b, err := os.ReadFile(procFile(pid, "task", t.Name(), "children"))
		if err != nil {
			return portableChildren(pid) // a kernel without the list, or it is gone
		}
		for f := range strings.FieldsSeq(string(b)) {
			if n, err := strconv.Atoi(f); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

func portableChildren(pid int) (out []int) {
	pids, err := process.Pids()
	if err != nil {
		return nil
	}
	for _, p := range pids {
		if s, err := statOf(int(p)); err == nil && s.ppid == pid {
			out = append(out, int(p))
		}
	}
	return out
}
