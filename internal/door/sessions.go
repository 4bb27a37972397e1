package door

import (
	"crypto/rand"
	"errors"
	"regexp"
	"sync"
	"time"
)

// How many sessions there are and how long one lasts that nobody uses.
const (
	usualMost   = 1000
	usualIdle   = time.Hour
	leastIdle   = time.Minute // before a session has to go for a new one
	sessionName = "tms_"
)

// errNoSession is what a name that was not given here gets.
var errNoSession = errors.New("door: no such session")

// Names matches the name of a session: it is as good as a key, and belongs in no
// log.
var Names = regexp.MustCompile(sessionName + `[A-Z2-7]+`)

// Sessions are those that a server has given. It is safe for concurrent use.
type Sessions struct {
	Most int           // at once: 1,000 when 0
	Idle time.Duration // after which one ends: an hour when 0
	// Ended is told of a session that ended by itself; it may be nil. It is called
	// without any lock held.
	Ended func(id string)

	mu   sync.Mutex
	open map[string]*session
}

type session struct {
	who  string    // may go on with it; see Caller
	used time.Time // when the last request ended
	busy int       // requests that go on
}

// Generate opens a session that only who goes on with, "" if there are too many
// that are in use.
func (s *Sessions) Generate(who string) string {
	id, gone := s.generate(who, time.Now())
	for _, g := range gone {
		if s.Ended != nil {
			s.Ended(g)
		}
	}
	return id
}

// Full reports whether no session can be opened now.
func (s *Sessions) Full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open) >= or(s.Most, usualMost) && s.oldest(time.Now()) == ""
}

func (s *Sessions) generate(who string, now time.Time) (id string, gone []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	gone = s.sweep(now)
	if len(s.open) >= or(s.Most, usualMost) {
		oldest := s.oldest(now)
		if oldest == "" {
			return "", gone
		}
		delete(s.open, oldest)
		gone = append(gone, oldest)
	}
	if s.open == nil {
		s.open = map[string]*session{}
	}
	id = sessionName + rand.Text()
	s.open[id] = &session{who: who, used: now}
	return id, gone
}

// sweep ends what nobody has used for long; mu MUST be held.
func (s *Sessions) sweep(now time.Time) (gone []string) {
	for id, o := range s.open {
		if o.busy == 0 && now.Sub(o.used) > or(s.Idle, usualIdle) {
			delete(s.open, id)
			gone = append(gone, id)
		}
	}
	return gone
}

// oldest is the session that was not used for longest, "" if all are in use; mu
// MUST be held.
func (s *Sessions) oldest(now time.Time) (id string) {
	least := now.Add(-leastIdle)
	for i, o := range s.open {
		if o.busy == 0 && o.used.Before(least) {
			id, least = i, o.used
		}
	}
	return id
}

// Has reports whether a session goes on and is that of who.
func (s *Sessions) Has(id, who string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.open[id]
	return o != nil && o.who == who && (o.busy > 0 || time.Since(o.used) <= or(s.Idle, usualIdle))
}

// Use notes that a request goes on; the caller calls what it returns at its end.
func (s *Sessions) Use(id string) (done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.open[id]
	if o == nil {
		return func() {}
	}
	o.busy++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		o.busy--
		o.used = time.Now()
	}
}

// Of is the sessions of one caller in the form in which a transport asks.
type Of struct {
	*Sessions
	Who string
}

// Generate opens a session.
func (o Of) Generate() string { return o.Sessions.Generate(o.Who) }

// Validate is Has.
func (o Of) Validate(id string) (ended bool, err error) {
	if !o.Has(id, o.Who) {
		return false, errNoSession
	}
	return false, nil
}

// Terminate ends a session.
func (s *Sessions) Terminate(id string) (notAllowed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
	return false, nil
}

func or[T int | time.Duration](v, usual T) T {
	if v == 0 {
		return usual
	}
	return v
}
