package judge

import (
	"slices"

	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

// sameWeight is how far weights may differ and still count as equal: then what
// came first decides.
const sameWeight = 0.1

// choose picks the suspect that proves the primary cause among those that
// nothing healed; nil when there is none.
func choose(b *failure.Book, alive []*suspect) *suspect {
	explain(b, alive)
	var pool []*suspect
	for _, role := range []report.Role{report.RoleCause, report.RoleSymptom} {
		for _, s := range alive {
			if s.role == role && s.yielded == "" {
				pool = append(pool, s)
			}
		}
		if len(pool) > 0 {
			break
		}
	}
	var best *suspect
	for _, s := range pool {
		if best == nil || beats(s, best) {
			best = s
		}
	}
	return best
}

// explain marks suspects whose class is explained by another class's
// cause-line: a watchdog timeout by the rank that raised. Two that would explain
// each other explain nothing.
func explain(b *failure.Book, alive []*suspect) {
	for _, s := range alive {
		for _, o := range alive {
			if o.class != s.class && o.role == report.RoleCause && o.weight >= 0.4 && s.yieldsTo(b, o.class) &&
				!(s.role == report.RoleCause && o.yieldsTo(b, s.class)) {
				s.yielded = o.class
				break
			}
		}
	}
}

// yieldsTo reports whether the suspect, or its class, leaves the verdict to
// another class.
func (s *suspect) yieldsTo(b *failure.Book, other report.Class) bool {
	if slices.Contains(s.yields, other) {
		return true
	}
	c := b.Class(s.class)
	return c != nil && slices.Contains(c.YieldsTo, other)
}

// beats reports whether s is the better explanation than t.
func beats(s, t *suspect) bool {
	ws, wt := s.strength(), t.strength()
	if d := ws - wt; d > sameWeight || d < -sameWeight {
		return d > 0
	}
	if c := s.compare(t); c != 0 {
		return c < 0
	}
	return ws > wt
}

// strength is the weight, a little more for an exception that began a chain and
// a little less for one that was raised while another was being handled.
func (s *suspect) strength() float64 {
	w := s.weight
	if s.trace != nil {
		if s.trace.Earlier != nil && !s.trace.Direct {
			w -= 0.12
		}
	}
	return w
}

// compare tells which came first: by time where both have one, else by place in
// the same stream; 0 when that cannot be said.
func (s *suspect) compare(t *suspect) int {
	if s.stream == t.stream && s.stream != nil {
		return s.order - t.order
	}
	if !s.at.IsZero() && !t.at.IsZero() && !s.at.Equal(t.at) {
		return s.at.Compare(t.at)
	}
	return 0
}
