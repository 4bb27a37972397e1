package monitor

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
)

// What a list of watches holds at most.
const (
	maxListed      = 200
	maxListedTells = 20
)

// List shows the watches of this desk and those that earlier servers left in its
// folder, those that need somebody first. It asks for none of them: a watch that
// is only looked at in a list comes to rest all the same.
func (d *Desk) List() []report.Glimpse {
	d.mu.Lock()
	seats := maps.Clone(d.seats)
	d.mu.Unlock()
	var out []report.Glimpse
	for _, s := range seats {
		out = append(out, s.glimpse())
	}
	for _, id := range d.left(maxListed) {
		if seats[id] != nil {
			continue
		}
		s := &seat{id: id, dir: filepath.Join(d.Dir, id), journal: &journal{dir: filepath.Join(d.Dir, id), next: 1}, done: make(chan struct{})}
		close(s.done)
		req, err := readRequest(s.dir)
		if err != nil || idOf(req) != id {
			continue
		}
		s.req, s.glance, s.report = req, readGlance(s.dir), readReport(s.dir)
		_ = s.journal.read() // without it the watch has told nothing
		out = append(out, s.glimpse())
	}
	slices.SortFunc(out, func(a, b report.Glimpse) int {
		return cmp.Or(cmp.Compare(need(&b), need(&a)), b.Started.Compare(a.Started), cmp.Compare(a.ID, b.ID))
	})
	return out[:min(len(out), maxListed)]
}

// left lists the newest folders of watches.
func (d *Desk) left(most int) []string {
	entries, _ := os.ReadDir(d.Dir) // no folder: no watches
	written := map[string]int64{}
	for _, e := range entries {
		if info, err := os.Stat(filepath.Join(d.Dir, e.Name(), lookFile)); err == nil {
			written[e.Name()] = info.ModTime().UnixNano()
		}
	}
	ids := slices.SortedFunc(maps.Keys(written), func(a, b string) int { return cmp.Compare(written[b], written[a]) })
	return ids[:min(len(ids), most)]
}

// need is how much a watch wants to be seen.
func need(g *report.Glimpse) int {
	if g.State.Ended() || g.Resting {
		return 0
	}
	most := 1
	for i := range g.Live.Open {
		if g.Live.Open[i].Grave() {
			return 3
		}
		most = 2
	}
	return most
}

// glimpse is redacted: what looks saw was when it was noted.
func (s *seat) glimpse() report.Glimpse {
	resting := s.resting()
	s.mu.Lock()
	defer s.mu.Unlock()
	g := report.Glimpse{
		ID: s.id, Target: redact.Text(s.req.Target), State: cmp.Or(s.glance.State, report.StateRunning), Line: s.glance.StatusLine, Resting: resting,
		Started: s.glance.Started, At: s.glance.At, Live: s.live,
	}
	g.Live.Open = slices.Clone(s.glance.Open)
	events := s.journal.since(0)
	g.Events = slices.Clone(events[max(0, len(events)-maxListedTells):])
	if s.err != nil {
		g.Blind = redact.Text(s.err.Error())
	}
	if s.report != nil {
		g.State, g.Decision, g.Reason, g.Resting = s.report.TerminalState, s.report.Decision, s.report.StopReason, false
	}
	return g
}
