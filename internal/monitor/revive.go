package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
)

const checkFile = "action.json"

// Act notes an action on a watch of this desk. A run that was started again is
// watched on under the same id, also where the watch had ended with the run
// before.
func (d *Desk) Act(ctx context.Context, id string, a Acted) error {
	s, err := d.seat(id)
	if err != nil {
		return errors.Join(err, closeRun(a))
	}
	if !s.over() {
		select {
		case s.acted <- a:
			return nil
		case <-s.done: // it ended meanwhile
		case <-ctx.Done(): // another process watches it
			return errors.Join(fmt.Errorf("monitor: watch %s: %w", id, ctx.Err()), closeRun(a))
		}
	}
	<-s.done
	return d.revive(s, a)
}

func closeRun(a Acted) error {
	if a.Run == nil {
		return nil
	}
	return a.Run.Close()
}

// revive begins a watch that had ended anew, on the run of an action.
func (d *Desk) revive(s *seat, a Acted) error {
	d.mu.Lock()
	if s.report != nil {
		a.From = s.report.TotalSteps
	}
	delete(d.seats, s.id)
	again := &seat{req: s.req, revived: &a}
	if s.unkept != nil { // no disk has it
		again.journal, again.glance, again.report = s.journal, s.glance, s.report
	}
	err := d.sit(s.id, again)
	next := d.seats[s.id]
	d.mu.Unlock()
	if err != nil {
		return errors.Join(err, closeRun(a))
	}
	select {
	case <-next.taken:
		return nil
	case <-next.done:
		next.mu.Lock()
		defer next.mu.Unlock()
		return next.err
	}
}

// goOn is what a watch that had ended does after an action: it looks at the run
// that goes on, or notes what was done and ends again.
func (d *Desk) goOn(ctx context.Context, s *seat, told *Told, idle time.Duration) {
	a := *s.revived
	if a.Run == nil {
		s.append(a)
		close(s.taken)
		return
	}
	kind, ref, err := d.Monitor.Sources.Resolve(s.req.Target)
	if err != nil {
		s.fail(errors.Join(err, closeRun(a)))
		return
	}
	if err := os.Remove(filepath.Join(s.dir, report.WatchArtifact)); err != nil && !errors.Is(err, os.ErrNotExist) && s.unkept == nil {
		s.fail(errors.Join(fmt.Errorf("monitor: %w", err), closeRun(a)))
		return
	}
	s.mu.Lock()
	s.report, s.glance.State = nil, report.StateRunning
	s.mu.Unlock()
	w := d.Monitor.watch(s.req, kind, ref, nothing{}, told)
	w.GoOn(a)
	close(s.taken)
	s.run(ctx, w, idle)
}

// nothing is the source of a run that is over.
type nothing struct{ source.Source }

// Close implements source.Source.
func (nothing) Close() error { return nil }

// append notes an action on a watch that stays ended.
func (s *seat) append(a Acted) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var book notes
	book.restore(s.journal.told())
	events := book.took(time.Now(), a.Text)
	if s.report != nil {
		s.report.Anomalies = book.all()
		events = append(events, endOf(s.report))
	}
	err := s.journal.add(events)
	if s.report != nil && err == nil {
		_, err = report.WriteFile(s.dir, report.WatchArtifact, s.report)
	}
	s.glance.StatusLine = statusLine(s.line, err)
	s.wake()
}

// keepCheck writes what has to be seen of the last action, for the next server.
func (s *seat) keepCheck(c *check) error {
	return writeWhole(filepath.Join(s.dir, checkFile), c)
}

func readCheck(dir string) *check {
	var c check
	b, err := os.ReadFile(filepath.Join(dir, checkFile))
	if err != nil || json.Unmarshal(b, &c) != nil || c.Log == "" {
		return nil
	}
	return &c
}

// reopen opens the run of a watch that an earlier server left behind: that of the
// last action if there was one. That is known by its log alone: another process may
// have its PID by now.
func (m *Monitor) reopen(ctx context.Context, r Request, told *Told, c *check) (*Watch, error) {
	if c == nil {
		return m.Open(ctx, r, told)
	}
	target := r.Target
	r.Target = schemeOf(c.Log) + ":" + c.Log
	w, err := m.Open(ctx, r, told)
	if err != nil {
		return nil, err
	}
	w.req.Target, w.check = target, c
	return w, nil
}

// Plan is what may be done about the run of a watch.
type Plan struct {
	Target         string
	Project        string // of a job in a cloud, as the watch has it
	Region         string
	NoFix          bool
	Fixes          []report.Fix // none while the run goes on
	BestCheckpoint *string
}

// Plan gives the recovery plan of a watch; its fixes are there once the run has
// ended.
func (d *Desk) Plan(id string) (Plan, error) {
	s, err := d.seat(id)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Target: s.req.Target, Project: s.req.Options.Project, Region: s.req.Options.Region, NoFix: s.req.NoFix}
	var g report.Diagnosis
	if _, err := os.Stat(filepath.Join(s.dir, report.WatchArtifact)); err != nil {
		return p, nil
	}
	b, err := os.ReadFile(filepath.Join(s.dir, report.CheckArtifact))
	if err == nil && json.Unmarshal(b, &g) == nil {
		p.Fixes, p.BestCheckpoint = g.Fixes, g.BestCheckpoint
	}
	return p, nil
}
