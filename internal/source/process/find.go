package process

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v3/process"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/source"
)

// candidate is a process whose name or command line is like what was asked for.
type candidate struct {
	stat
	args []string
}

// How well a candidate matches; the best matches of all count.
const (
	noMatch   = iota
	inside    // what was asked for is part of the command line
	words     // it is words of the command line, paths left out: "uv run", "torchrun"
	wholeLine // it is the command line
)

// find gives the one run that a name means: of the processes that match best
// those that are not below another one of them.
func find(name string) (stat, error) {
	var best []candidate
	level := noMatch + 1
	for _, c := range candidates() {
		switch l := match(c.args, name); {
		case l > level:
			best, level = []candidate{c}, l
		case l == level:
			best = append(best, c)
		}
	}
	best = topmost(best)
	switch len(best) {
	case 0:
		return stat{}, fmt.Errorf("process: no process matches %q; name it as ps shows it, by its PID (--pid), or by its log: %w", name, source.ErrNotFound)
	case 1:
		return best[0].stat, nil
	}
	return stat{}, several(name, best)
}

// several asks which one is meant.
func several(name string, found []candidate) error {
	var b strings.Builder
	for i, c := range found {
		if i == 10 {
			fmt.Fprintf(&b, "\n  and %d more", len(found)-i)
			break
		}
		fmt.Fprintf(&b, "\n  --pid %-8d since %s  %s", c.pid, startOf(c.pid).Format("2006-01-02 15:04:05"), redact.Clip(strings.Join(c.args, " "), 100))
	}
	return fmt.Errorf("process: %d processes match %q; which one? Name it by its PID:%s\n%w", len(found), name, b.String(), source.ErrBadTarget)
}

// candidates are all processes but this one, those that started it, and those
// that only look at a run.
func candidates() []candidate {
	pids, err := process.Pids()
	if err != nil {
		return nil
	}
	slices.Sort(pids)
	skip := ancestors(os.Getpid())
	var out []candidate
	for _, pid := range pids {
		if skip[int(pid)] {
			continue
		}
		args := argsOf(int(pid))
		if len(args) == 0 || onlookers[filepath.Base(args[0])] {
			continue
		}
		if s, err := statOf(int(pid)); err == nil && s.state != "Z" {
			out = append(out, candidate{s, args})
		}
	}
	return out
}

// onlookers are programs whose arguments name a run that they are not.
var onlookers = map[string]bool{
	"vi": true, "vim": true, "nvim": true, "nano": true, "emacs": true, "less": true, "more": true, "cat": true, "tail": true, "head": true,
	"grep": true, "pgrep": true, "rg": true, "watch": true, "tee": true, "ssh": true, "scp": true, "rsync": true, "tmux": true, "screen": true,
	"htop": true, "top": true, "git": true, "code": true, "py-spy": true, "gdb": true, "strace": true,
}

func ancestors(pid int) map[int]bool {
	out := map[int]bool{}
	for pid > 0 && !out[pid] {
		out[pid] = true
		s, err := statOf(pid)
		if err != nil {
			break
		}
		pid = s.ppid
	}
	return out
}

// match says how well a command line matches a name. A word matches with or
// without its folder: "train.py" is /home/me/train.py.
func match(args []string, name string) int {
	line, name := strings.Join(args, " "), strings.Join(strings.Fields(name), " ")
	if line == name {
		return wholeLine
	}
	want := strings.Fields(name)
	for i := 0; i+len(want) <= len(args); i++ {
		if slices.EqualFunc(args[i:i+len(want)], want, func(arg, w string) bool { return arg == w || filepath.Base(arg) == w }) {
			return words
		}
	}
	if strings.Contains(line, name) {
		return inside
	}
	return noMatch
}

// topmost drops those that have another one above them: a run's ranks and loader
// workers have its own command line.
func topmost(found []candidate) []candidate {
	is := map[int]bool{}
	for _, c := range found {
		is[c.pid] = true
	}
	return slices.DeleteFunc(found, func(c candidate) bool {
		for pid := range ancestors(c.ppid) {
			if is[pid] {
				return true
			}
		}
		return false
	})
}
