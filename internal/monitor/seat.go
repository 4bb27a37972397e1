package monitor

import (
	"context"
	"errors"
	"sync"
	"time"

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
	anew    bool          // what lies in dir is of a watch before, and counts for nothing
	unkept  error         // why nothing of it is kept in dir; nil else
	owes    bool          // the request is not in dir yet
	line    string        // what the last look saw, without what is said beside it

	mu      sync.Mutex
	journal *journal
	glance  glance
	glanced time.Time // when it was written
	live    report.Live
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
	j := &journal{dir: s.dir, next: 1}
	if j.read() != nil {
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
