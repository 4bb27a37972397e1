package run

import (
	"slices"
	"strings"
)

// Failed are the tasks that failed, in the order in which they ended; those that
// only hold other tasks are left out where one of the others failed.
func (p *Pipeline) Failed() []Task {
	var out, groups []Task
	for _, t := range p.Tasks {
		switch {
		case !t.Failed():
		case t.Group:
			groups = append(groups, t)
		default:
			out = append(out, t)
		}
	}
	if len(out) == 0 {
		out = groups
	}
	slices.SortStableFunc(out, func(a, b Task) int {
		if a.End.IsZero() != b.End.IsZero() { // when it ended is not known
			return b.End.Compare(a.End)
		}
		return a.End.Compare(b.End)
	})
	return out
}

// Failed reports whether the task's service says that it failed.
func (t *Task) Failed() bool {
	s := strings.ToUpper(t.State)
	switch s {
	case "ERROR", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY":
		return true
	}
	return strings.HasSuffix(s, "FAILED")
}
