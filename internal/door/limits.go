package door

import (
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// What one session may do. An agent makes a call in some seconds. Clients without
// a session, and those that open one, count together by their address, which a
// proxy may share among many: they may do more.
const (
	perSecond  = 50
	burst      = 200
	atOnce     = 64
	streams    = 4 // listening streams
	sharing    = 16
	maxLimited = 4096
)

// Limits count what each session does. It is safe for concurrent use.
type Limits struct {
	PerSecond int // requests: 50 when 0
	Burst     int // at once after a pause: 200 when 0
	AtOnce    int // that go on: 64 when 0
	Streams   int // on which a client listens: 4 when 0

	mu  sync.Mutex
	who map[string]*usage
}

type usage struct {
	rate    *rate.Limiter
	calls   int
	streams int
	last    time.Time
}

// enter lets a request of a session or of an address in and returns what to call
// at its end; nil if there is no room.
func (l *Limits) enter(session, addr string, stream bool) (leave func()) {
	key, times := session, 1
	if session == "" {
		key, times = addr, sharing
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.of(key, times, time.Now())
	if u == nil {
		return nil
	}
	count, most := &u.calls, times*or(l.AtOnce, atOnce)
	if stream {
		count, most = &u.streams, times*or(l.Streams, streams)
	}
	if *count >= most || !u.rate.Allow() {
		return nil
	}
	*count++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		*count--
		u.last = time.Now()
	}
}

// of finds what is counted for a key; it forgets those who have gone. mu MUST be
// held.
func (l *Limits) of(key string, times int, now time.Time) *usage {
	if u := l.who[key]; u != nil {
		u.last = now
		return u
	}
	if len(l.who) >= maxLimited {
		for k, u := range l.who {
			if u.calls+u.streams == 0 && now.Sub(u.last) > time.Minute {
				delete(l.who, k)
			}
		}
		if len(l.who) >= maxLimited {
			return nil
		}
	}
	if l.who == nil {
		l.who = map[string]*usage{}
	}
	r := rate.Limit(times * or(l.PerSecond, perSecond))
	u := &usage{rate: rate.NewLimiter(r, times*or(l.Burst, burst)), last: now}
	l.who[key] = u
	return u
}
