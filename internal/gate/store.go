package gate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/trainmedic/trainmedic/internal/state"
)

// keepRecords is how long a plan is remembered: denials and tries count as long.
const keepRecords = 7 * 24 * time.Hour

// keepIdle is how long one is remembered that nobody denied and that was not done.
const keepIdle = 24 * time.Hour

// triesWithin is how far back tries count.
const triesWithin = 24 * time.Hour

// store is the folder of the plans of all servers of a user: a file each, written
// whole. A server holds a lock while it lives, so that others can tell its plans
// from those of one that died.
type store struct {
	dir      string
	instance string
	lock     *os.File
}

// StateDir is where plans, audit and sockets of a user lie, beside the watches.
func StateDir() (string, error) { return state.Dir("gate") }

func openStore(dir string) (*store, error) {
	s := &store{dir: dir, instance: strings.ReplaceAll(uuid.NewString(), "-", "")[:12]}
	for _, d := range []string{dir, s.path("plans"), s.path("instances")} {
		if err := state.Make(d); err != nil {
			return nil, fmt.Errorf("gate: %w", err)
		}
	}
	var err error
	if s.lock, err = lockFile(s.path("instances", s.instance), false); err != nil {
		return nil, fmt.Errorf("gate: state: %w", err)
	}
	return s, nil
}

func (s *store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

// save writes a record; it is on disk, its name too, when it returns without an
// error.
func (s *store) save(r *Record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("gate: plan %s: %w", r.ID, err)
	}
	f, err := os.CreateTemp(s.path("plans"), ".plan.*")
	if err != nil {
		return fmt.Errorf("gate: plan %s: %w", r.ID, err)
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.path("plans", r.ID+".json"))
	}
	if err == nil {
		err = syncDir(s.path("plans"))
	}
	if err != nil {
		os.Remove(f.Name()) //nolint:errcheck // it is there no more, or the error says enough
		return fmt.Errorf("gate: plan %s: %w", r.ID, err)
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// records reads what is kept of all servers' plans; old ones are forgotten.
func (s *store) records(now time.Time) ([]Record, error) {
	entries, err := os.ReadDir(s.path("plans"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("gate: plans: %w", err)
	}
	var out []Record
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		var r Record
		path := s.path("plans", e.Name())
		b, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(b, &r) != nil || r.ID+".json" != e.Name() {
			continue // another server took it away, or nobody wrote it
		}
		if age := now.Sub(r.Created); age > keepRecords || age > keepIdle && r.State != Denied && r.Ran.IsZero() {
			os.Remove(path) //nolint:errcheck // it is forgotten the next time
			continue
		}
		out = append(out, r)
	}
	return out, nil
}

// alive reports whether the server of a plan still runs.
func (s *store) alive(instance string) bool {
	if instance == s.instance {
		return true
	}
	path := s.path("instances", filepath.Base(instance))
	if _, err := os.Stat(path); err != nil {
		return false
	}
	f, err := lockFile(path, false)
	if err != nil {
		return true
	}
	defer f.Close()
	os.Remove(path) //nolint:errcheck // its server is gone; the next look finds it again
	return false
}

// recover finds the plans of servers that ended before they were done with them,
// and says of each what became of it. None is ever taken up again.
func (s *store) recover(now time.Time) ([]Record, error) {
	lock, err := lockFile(s.path("recover.lock"), true)
	if err != nil {
		return nil, fmt.Errorf("gate: state: %w", err)
	}
	defer lock.Close()
	all, err := s.records(now)
	if err != nil {
		return nil, err
	}
	var out []Record
	for _, r := range all {
		became := map[State]State{Pending: Void, Approved: Void, Executing: Interrupted}[r.State]
		if became == "" || s.alive(r.Instance) {
			continue
		}
		by := "the server that was started again"
		r.Outcome = "the server ended before a decision was carried out: it was not done"
		if became == Interrupted {
			r.Outcome = "the server ended while it was done: look at the run; it is not done again"
		}
		r.State = became
		if had, err := noted(s.dir, r.ID, string(became)); err != nil {
			return out, err
		} else if !had { // else that server ended before it could save the plan
			if err := note(s.dir, entryOf(&r, string(became), by, r.Outcome, now)); err != nil {
				return out, err
			}
		}
		if err := s.save(&r); err != nil {
			return out, err
		}
		out = append(out, r)
	}
	return out, nil
}

func (s *store) close() error {
	return errors.Join(os.Remove(s.path("instances", s.instance)), s.lock.Close())
}

// entryOf is the audit's line about a plan.
func entryOf(r *Record, event, by, what string, now time.Time) Entry {
	e := Entry{At: now, Event: event, Plan: r.ID, Digest: r.Digest, Action: r.Action, Run: r.Run, By: by, What: what}
	if event == "proposed" {
		e.Does = r.Does
	}
	return e
}
