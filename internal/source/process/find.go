package process

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/shirou/gopsutil/v3/process"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/ps"
)

// candidate is a process whose name or command line is like what was asked for.
type candidate struct {
	stat
	args []string
}

// find gives the one run that a name means: of the processes that match best
// those that are not below another one of them.
func find(name string) (stat, error) {
	var best []candidate
	level := ps.NoMatch + 1
	for _, c := range candidates() {
		switch l := ps.Match(c.args, name); {
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
		if len(args) == 0 || ps.Onlooker(args[0]) {
			continue
		}
		if s, err := statOf(int(pid)); err == nil && s.state != "Z" {
			out = append(out, candidate{s, args})
		}
	}
	return out
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
