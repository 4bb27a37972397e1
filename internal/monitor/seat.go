package monitor

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
)

// Status is what a client learns of a watch.
type Status struct {
	ID       string
	Cursor   int
	State    report.TerminalState
	Line     string
	Events   []report.Event
	Open     []report.Anomaly
	Next     time.Duration
	Artifact *report.WatchReport // at the end
}

// seat is one watch at a desk: the goroutine that looks, its journal, and who
// waits for news. Its fields below mu are guarded by it.
type seat struct {
	id, dir string
	req     Request
	cancel  context.CancelFunc
	done    chan struct{} // closed when the goroutine is gone
	acted   chan Acted    // actions on the run
	revived *Acted        // the action that began a watch anew that had ended
	taken   chan struct{} // closed when that is noted

	mu      sync.Mutex
	journal *journal
	glance  glance
	glanced time.Time // when it was written
	report  *report.WatchReport
	err     error         // why the first look saw nothing
	changed chan struct{} // closed and made anew at every change
	stop    string        // why it shall stop, "" while it shall not
}

// glanceEvery is how often the state of a watch that has nothing to tell is
// written: it is most of what a quiet look costs.
const glanceEvery = time.Minute

// run looks until the run ends, the seat is stopped, nobody asks any more, or
// ctx ends.
func (s *seat) run(ctx context.Context, w *Watch, idle time.Duration) {
	defer w.Close()
	w.name, w.inbox = s.id, s.acted
	for time.Since(s.askedAt()) < idle {
		u, err := w.Next(ctx)
		s.mu.Lock()
		stop := s.stop
		s.mu.Unlock()
		switch {
		case errors.Is(err, ErrEnded):
			return
		case err != nil && stop != "":
			r := w.Stop(stop)
			s.note(&report.Update{At: time.Now(), Poll: w.polls, State: r.TerminalState, End: r, Events: []report.Event{endOf(r)}, Live: report.Live{Open: w.Open()}}, w)
			return
		case err != nil:
			s.fail(err)
			return
		}
		s.note(u, w)
		if u.End != nil {
			return
		}
	}
}

// note writes what a look saw, at the end the artifact first, and wakes those who
// wait.
func (s *seat) note(u *report.Update, w *Watch) {
	redact.Value(u)
	var failed error
	if u.End != nil {
		failed = s.keepReport(u.End, w.Diagnosis())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.report = u.End
	failed = errors.Join(failed, s.journal.add(u.Events))
	if w.check != nil && slices.ContainsFunc(u.Events, func(e report.Event) bool {
		return e.Kind == report.EventActed || e.Kind == report.EventValidated || e.Kind == report.EventNotValidated
	}) {
		failed = errors.Join(failed, s.keepCheck(w.check))
	}
	g := &s.glance
	g.Started, g.At, g.Polls, g.State = w.started, u.At, u.Poll, u.State
	g.Next, g.Open = u.Next.Seconds(), u.Live.Open
	g.Memory = w.file.Pulse.Memory()
	if len(u.Lines) > 0 {
		g.StatusLine = u.Status
	}
	if len(u.Events) > 0 || u.End != nil || g.At.Sub(s.glanced) >= glanceEvery || g.Polls == 1 {
		s.glanced = g.At
		failed = errors.Join(failed, writeGlance(s.dir, g))
	}
	if failed != nil {
		g.StatusLine += " | not written: " + failed.Error()
	}
	s.wake()
}

// keepReport writes the artifacts of a watch that ended.
func (s *seat) keepReport(r *report.WatchReport, d *report.Diagnosis) error {
	redact.Value(d)
	_, err := report.WriteFile(s.dir, report.WatchArtifact, r)
	if d != nil {
		_, second := report.WriteFile(s.dir, report.CheckArtifact, d)
		err = errors.Join(err, second)
	}
	if s.req.OutDir != "" {
		err = errors.Join(err, writeBoth(s.req.OutDir, r, d))
	}
	return err
}

// writeBoth writes the artifact of the watch, and of a run that failed the
// diagnosis beside it.
func writeBoth(dir string, r *report.WatchReport, d *report.Diagnosis) error {
	_, err := report.WriteFile(dir, report.WatchArtifact, r)
	if r.TerminalState == report.StateFailed && d != nil {
		_, second := report.WriteFile(dir, report.CheckArtifact, d)
		err = errors.Join(err, second)
	}
	return err
}

func (s *seat) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
	s.wake()
}

// wake MUST be called with mu held.
func (s *seat) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// status is what a client with that cursor gets now; ready says that it need not
// wait for more.
func (s *seat) status(cursor int, fresh bool) (st Status, ready bool, changed <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return Status{}, true, nil, s.err
	}
	st = Status{
		ID: s.id, Cursor: s.journal.next - 1, State: s.glance.State, Line: s.glance.StatusLine, Events: s.journal.since(cursor),
		Open: s.glance.Open, Artifact: s.report, Next: time.Duration(s.glance.Next * float64(time.Second)),
	}
	if st.State == "" {
		st.State = report.StateRunning
	}
	ready = len(st.Events) > 0 || s.report != nil || fresh && s.glance.Polls > 0
	return st, ready, s.changed, nil
}

// wait returns when there is something to tell, or when ctx ends: then what is
// known is the answer.
func (s *seat) wait(ctx context.Context, cursor int, fresh bool) (Status, error) {
	for {
		st, ready, changed, err := s.status(cursor, fresh)
		if err != nil || ready {
			return st, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return st, nil
		}
	}
}

// ask notes that a client is there: a watch that nobody asks for ends itself.
func (s *seat) ask(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.glance.Asked = now
}

func (s *seat) askedAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.glance.Asked
}

// halt ends the watch with a reason and waits until its report is there.
func (s *seat) halt(reason string) {
	s.mu.Lock()
	s.stop = reason
	s.mu.Unlock()
	s.cancel()
	<-s.done
}

// over reports whether the watch has ended or could not begin.
func (s *seat) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.report != nil || s.err != nil
}

// resting reports whether the goroutine is gone though the run goes on.
func (s *seat) resting() bool {
	select {
	case <-s.done:
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.report == nil
	default:
		return false
	}
}

// borrow reads what the owner, another process, has written; it is true when the
// watch has ended.
func (s *seat) borrow() bool {
	j := &journal{next: 1}
	if _, err := j.read(filepath.Join(s.dir, journalFile)); err != nil {
		return false
	}
	g := readGlance(s.dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	if j.next == s.journal.next && g.Polls == s.glance.Polls && g.State == s.glance.State {
		return false
	}
	s.journal, s.glance = j, g
	if j.ended() {
		s.report = readReport(s.dir)
	}
	s.wake()
	return s.report != nil
}
