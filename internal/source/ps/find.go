package ps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/source"
)

// find gives the one run that a name means on a machine: of the processes that
// match best those that are not below another one of them.
func find(all []process, name, host string) (process, error) {
	var best []process
	level := NoMatch + 1
	for _, p := range all {
		args := strings.Fields(p.args)
		if len(args) == 0 || p.state == "Z" || Onlooker(args[0]) {
			continue
		}
		switch l := Match(args, name); {
		case l > level:
			best, level = []process{p}, l
		case l == level:
			best = append(best, p)
		}
	}
	found := slices.DeleteFunc(slices.Clone(best), func(p process) bool {
		return slices.ContainsFunc(best, func(o process) bool {
			return o.pid != p.pid && slices.ContainsFunc(below(all, o.pid), func(c process) bool { return c.pid == p.pid })
		})
	})
	switch len(found) {
	case 0:
		return process{}, fmt.Errorf("ps: no process of %s matches %q; name it as ps shows it, by its PID (--pid), or by its log: %w", host, name, source.ErrNotFound)
	case 1:
		return found[0], nil
	}
	var b strings.Builder
	for _, p := range found[:min(len(found), 10)] {
		fmt.Fprintf(&b, "\n  --pid %s:%-8d for %s  %s", host, p.pid, p.age, redact.Clip(p.args, 100))
	}
	return process{}, fmt.Errorf("ps: %d processes of %s match %q; which one? Name it by its PID:%s\n%w", len(found), host, name, b.String(), source.ErrBadTarget)
}
