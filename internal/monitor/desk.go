package monitor

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/state"
)

// Desk runs many watches, each in a goroutine and with a journal in a folder of
// its own below Dir. What a client was told survives the process; another
// process that watches the same run reads the journal until the owner is gone,
// and then goes on. Where nothing can be kept (a full disk, a folder of somebody
// else's) a watch goes on in memory, and says so. It is safe for concurrent use. The caller closes it.
type Desk struct {
	Monitor *Monitor
	Dir     string        // where the journals lie, "" for nowhere
	Idle    time.Duration // after which a watch that nobody asks for rests: a day when 0
	Most    int           // how many watches may go on at once: 4,000 when 0

	mu     sync.Mutex
	seats  map[string]*seat
	closed bool
	wg     sync.WaitGroup
}

const (
	usualIdle   = 24 * time.Hour
	foreignLook = time.Second // between two readings of another process's journal
	usualMost   = 4000
	requestFile = "request.json"
)

// errOwned says that another process has a watch.
var errOwned = errors.New("monitor: another process has this watch")

// StateDir is where the journals of a user lie.
func StateDir() (string, error) { return state.Dir("watches") }

// Start begins to watch, or joins the watch that has the same target and
// options; one that has ended begins anew.
func (d *Desk) Start(r Request) (string, error) {
	kind, ref, err := d.Monitor.Sources.Resolve(r.Target)
	if err != nil {
		return "", err
	}
	if abs, err := filepath.Abs(ref); err == nil && (kind.Scheme == "file" || kind.Scheme == "artifacts") {
		r.Target = kind.Scheme + ":" + abs
	}
	r.fill(kind)
	r.Options.Stdin = nil
	id := idOf(r)
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.seats[id]; s != nil && !s.over() {
		return id, nil
	}
	dir := filepath.Join(d.Dir, id)
	before := &journal{dir: dir, next: 1}
	anew := d.seats[id] != nil || readGlance(dir).State.Ended() || before.read() == nil && before.ended()
	if anew {
		anew = forget(dir) != nil // of what cannot be taken away nothing is believed
	}
	return id, d.sit(id, &seat{req: r, anew: anew})
}

// forget takes away what is kept of a watch, its journal first: a part of the rest
// tells nothing.
func forget(dir string) error {
	if err := os.Remove(filepath.Join(dir, journalFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}

// idOf names a watch by its target and options.
func idOf(r Request) string {
	r.RunID, r.Options.Stdin = "", nil
	b, err := json.Marshal(r)
	if err != nil { // nothing in a Request can fail
		b = []byte(r.Target)
	}
	sum := sha256.Sum256(b)
	return "w" + hex.EncodeToString(sum[:6])
}

// sit gives a watch its seat. d.mu MUST be held.
func (d *Desk) sit(id string, s *seat) error {
	most := cmp.Or(d.Most, usualMost)
	if len(d.seats) >= most { // those that have ended lie on disk: who asks for one gets it back
		maps.DeleteFunc(d.seats, func(_ string, s *seat) bool { return s.over() })
	}
	if d.closed || len(d.seats) >= most {
		return fmt.Errorf("monitor: %d watches are open, the most of one server: %w", len(d.seats), source.ErrDenied)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.id, s.dir, s.cancel = id, filepath.Join(d.Dir, id), cancel
	s.done, s.changed, s.acted, s.taken = make(chan struct{}), make(chan struct{}), make(chan Acted), make(chan struct{})
	s.unkept = d.room(s)
	if s.journal == nil {
		s.journal = &journal{dir: s.dir, next: 1}
		if !s.anew {
			s.glance = readGlance(s.dir)
			s.unkept = errors.Join(s.unkept, s.journal.read())
		}
		if s.revived == nil && s.journal.ended() {
			s.report = readReport(s.dir)
		}
	}
	s.glance.Asked = time.Now()
	if d.seats == nil {
		d.seats = map[string]*seat{}
	}
	d.seats[id] = s
	d.wg.Go(func() {
		defer close(s.done)
		d.keep(ctx, s)
	})
	return nil
}

// room makes a watch's folder and notes there what was asked for; the error says
// why nothing of the watch can be kept.
func (d *Desk) room(s *seat) error {
	switch {
	case d.Dir == "":
		return errors.New("there is no state directory; set XDG_STATE_HOME")
	case s.anew:
		return errors.New("what lies there of the watch before cannot be taken away")
	}
	if err := state.Make(s.dir); err != nil {
		return err
	}
	if had, err := readRequest(s.dir); err != nil || idOf(had) != s.id {
		s.owes = true
		s.payRequest() //nolint:errcheck // it is tried again with each look that is written
	}
	return nil
}

// keep owns the watch, or reads the owner's journal until that one is gone.
func (d *Desk) keep(ctx context.Context, s *seat) {
	idle := d.Idle
	if idle == 0 {
		idle = usualIdle
	}
	t := time.NewTicker(foreignLook)
	defer t.Stop()
	for {
		if s.unkept != nil {
			d.own(ctx, s, idle)
			return
		}
		lock, err := lockDir(s.dir)
		if err == nil {
			defer lock.Close()
			d.own(ctx, s, idle)
			return
		}
		if !errors.Is(err, errOwned) { // nobody can own it
			s.unkept = err
			continue
		}
		if s.borrow() {
			return
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			s.fail(ctx.Err())
			return
		}
	}
}

// own goes on from the journal and looks until the end.
func (d *Desk) own(ctx context.Context, s *seat, idle time.Duration) {
	j := s.openJournal()
	defer j.close()
	s.mu.Lock()
	s.journal = j
	told := &Told{Started: s.glance.Started, Polls: s.glance.Polls, Events: j.told(), Memory: s.glance.Memory}
	if s.report == nil && j.ended() && (s.revived == nil || s.revived.Run == nil) {
		s.report = readReport(s.dir)
	}
	ended := s.report != nil
	if ended && s.revived == nil {
		s.wake()
	}
	s.mu.Unlock()
	if s.revived != nil {
		d.goOn(ctx, s, told, idle)
		return
	}
	if ended {
		return
	}
	w, err := d.Monitor.reopen(ctx, s.req, told, readCheck(s.dir))
	if err != nil {
		s.fail(err)
		return
	}
	s.run(ctx, w, idle)
}

// seat finds the watch of an id; one that rests or whose server ended goes on.
func (d *Desk) seat(id string) (*seat, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.seats[id]; s != nil && !s.resting() {
		return s, nil
	}
	r, err := readRequest(filepath.Join(d.Dir, filepath.Base(id)))
	if err != nil || idOf(r) != id {
		return nil, fmt.Errorf("monitor: no watch %.20q: %w", id, source.ErrNotFound)
	}
	if err := d.sit(id, &seat{req: r}); err != nil {
		return nil, err
	}
	return d.seats[id], nil
}

func readRequest(dir string) (r Request, err error) {
	b, err := os.ReadFile(filepath.Join(dir, requestFile))
	if err == nil {
		err = json.Unmarshal(b, &r)
	}
	return r, err
}

// Wait returns the events after the cursor as soon as there are any, and what is
// known when ctx ends; fresh asks for the first look's answer even if that has
// no event.
func (d *Desk) Wait(ctx context.Context, id string, cursor int, fresh bool) (Status, error) {
	s, err := d.seat(id)
	if err != nil {
		return Status{}, err
	}
	s.ask(time.Now())
	st, err := s.wait(ctx, cursor, fresh)
	if err != nil {
		d.drop(s)
	}
	return st, err
}

// Stop ends a watch before its run has ended, and returns its report.
func (d *Desk) Stop(id string, cursor int, reason string) (Status, error) {
	s, err := d.seat(id)
	if err != nil {
		return Status{}, err
	}
	s.halt(reason)
	st, _, _, err := s.status(cursor, false)
	return st, err
}

// drop forgets a watch that could not begin.
func (d *Desk) drop(s *seat) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.seats[s.id] == s {
		delete(d.seats, s.id)
	}
}

// Resume goes on with the watches that an earlier server left behind and that a
// client asked for lately.
func (d *Desk) Resume() error {
	dirs, err := os.ReadDir(d.Dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = state.Make(d.Dir) // what another user wrote there is not what a client asked for
	}
	if err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	var errs []error
	for _, e := range dirs {
		dir := filepath.Join(d.Dir, e.Name())
		g := readGlance(dir)
		if g.State.Ended() || time.Since(g.Asked) > usualIdle || g.Asked.IsZero() {
			continue
		}
		if r, err := readRequest(dir); err == nil && idOf(r) == e.Name() && !r.Once {
			d.mu.Lock()
			if d.seats[e.Name()] == nil {
				errs = append(errs, d.sit(e.Name(), &seat{req: r}))
			}
			d.mu.Unlock()
		}
	}
	return errors.Join(errs...)
}

// Close ends every goroutine; the journals stay for the next server.
func (d *Desk) Close() error {
	d.mu.Lock()
	d.closed = true
	for _, s := range d.seats {
		s.cancel()
	}
	d.mu.Unlock()
	d.wg.Wait()
	return nil
}

// readReport is the artifact of a watch that has ended, from its folder.
func readReport(dir string) *report.WatchReport {
	var r report.WatchReport
	b, err := os.ReadFile(filepath.Join(dir, report.WatchArtifact))
	if err != nil || json.Unmarshal(b, &r) != nil {
		return nil
	}
	return &r
}
