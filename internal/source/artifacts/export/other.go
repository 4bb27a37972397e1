package export

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	histRow = regexp.MustCompile(`^\s*(-?\d+)[\s,:]+(\d+)\s*$`)
	pinned  = regexp.MustCompile(`^([A-Za-z][\w.-]*)(?:==|\s+)(\d[\w.+!-]*)\s*$`)
)

// histogram reads "class count" rows: labels.min, labels.max, labels.classes.
func histogram(t *Text) (f Found) {
	if !strings.Contains(strings.ToLower(t.Name), "hist") && !strings.Contains(strings.ToLower(t.Name), "label") {
		return f
	}
	var lo, hi, n, loLine, hiLine int
	for i, l := range t.Lines {
		m := histRow.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		v, err := strconv.Atoi(m[1])
		if err != nil {
			continue
		}
		if n == 0 || v < lo {
			lo, loLine = v, i+1
		}
		if n == 0 || v > hi {
			hi, hiLine = v, i+1
		}
		n++
	}
	if n > 0 {
		f.fact(t, loLine, "labels.min", strconv.Itoa(lo))
		f.fact(t, hiLine, "labels.max", strconv.Itoa(hi))
		f.fact(t, hiLine, "labels.classes", strconv.Itoa(n))
	}
	return f
}

// packages reads pip freeze and pip list: package.<name>.
func packages(t *Text) (f Found) {
	if n := strings.ToLower(t.Name); !strings.Contains(n, "pip") && !strings.Contains(n, "requirements") {
		return f
	}
	for i, l := range t.Lines {
		if m := pinned.FindStringSubmatch(l); m != nil && len(f.Facts) < 500 {
			f.fact(t, i+1, "package."+strings.ToLower(m[1]), m[2])
		}
	}
	return f
}

// cgroup reads memory.events of a cgroup: cgroup.oom_kill and the others.
func cgroup(t *Text) (f Found) {
	if !strings.Contains(t.Name, "memory.events") {
		return f
	}
	for i, l := range t.Lines {
		if w := strings.Fields(l); len(w) == 2 {
			f.fact(t, i+1, "cgroup."+w[0], w[1])
		}
	}
	return f
}
