// Package remote is a machine that is reached by SSH: one connection, and on it
// one shell that lives as long, for all who look at it. It is a shell.Shell. A
// host's key is always verified. What was cut is made anew at the next question,
// after a while that grows from failure to failure; a question that was not
// answered is asked again, for it only looks; what changes something is sent
// once (Script.Once).
package remote

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/trainmedic/trainmedic/internal/source"
)

// Pool are the hosts that are connected; whoever names the same one shares it.
// The zero value is ready to use.
type Pool struct {
	Client Client

	mu    sync.Mutex
	hosts map[key]*Host
}

type key struct {
	Address
	accept bool
}

// linger is how long a connection is kept that nobody uses.
const linger = time.Minute

// Host gives the host of an address; nothing is dialled before it is asked
// something. acceptNew takes its key if none is known. The caller MUST Close it.
func (p *Pool) Host(a Address, acceptNew bool) *Host {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := key{a, acceptNew}
	h := p.hosts[k]
	if h == nil {
		client := p.Client
		client.AcceptNew = client.AcceptNew || acceptNew
		h = &Host{address: a, client: client, pool: p, lock: make(chan struct{}, 1)}
		if p.hosts == nil {
			p.hosts = map[key]*Host{}
		}
		p.hosts[k] = h
	}
	h.users++
	if h.idle != nil {
		h.idle.Stop()
		h.idle = nil
	}
	return h
}

// Host is one account on one machine. It is safe for concurrent use.
type Host struct {
	address Address
	client  Client
	pool    *Pool
	users   int         // guarded by the pool
	idle    *time.Timer // closes it; guarded by the pool

	lock     chan struct{} // held while what follows is used; a channel, so that waiting ends with a context
	line     line
	lane     *lane
	side     *lane // for what takes long, so that the others need not wait; nil where the server allows no second one
	alone    bool
	features features
	failed   error // of the last attempt to connect
	failures int
	again    time.Time // not before
	way      string    // see Way
	key      string    // see Key
}

// features are what a host's userland has.
type features struct {
	gzip bool
}

// Host implements shell.Shell.
func (h *Host) Host() string { return h.address.String() }

// Way says that the system's ssh connects, and why; "" when this program does,
// or when nothing is connected yet.
func (h *Host) Way() string {
	h.lock <- struct{}{}
	defer h.release()
	return h.way
}

// Key is the fingerprint of the host's key, which was verified; "" when the
// system's ssh connects and has verified it, or when nothing is connected yet.
func (h *Host) Key() string {
	h.lock <- struct{}{}
	defer h.release()
	return h.key
}

// Close lets go of the host. The connection ends when nobody has used it for a
// minute.
func (h *Host) Close() error {
	p := h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.users--; h.users == 0 {
		h.idle = time.AfterFunc(linger, h.forget)
	}
	return nil
}

func (h *Host) forget() {
	p := h.pool
	p.mu.Lock()
	gone := h.users == 0
	for k, v := range p.hosts {
		if gone && v == h {
			delete(p.hosts, k)
		}
	}
	p.mu.Unlock()
	if gone {
		h.lock <- struct{}{}
		defer h.release()
		h.drop()
	}
}

// Close ends all connections.
func (p *Pool) Close() {
	p.mu.Lock()
	hosts := p.hosts
	p.hosts = nil
	p.mu.Unlock()
	for _, h := range hosts {
		h.lock <- struct{}{}
		h.drop()
		h.release()
	}
}

func (h *Host) acquire(ctx context.Context) error {
	select {
	case h.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *Host) release() { <-h.lock }

// drop ends what is connected.
func (h *Host) drop() {
	for _, l := range []*lane{h.lane, h.side} {
		if l != nil {
			l.fail(errBroken)
		}
	}
	if h.line != nil {
		h.line.close()
	}
	h.line, h.lane, h.side, h.alone = nil, nil, nil, false
}

// Script is what a host's POSIX shell is asked to run: in a subshell, with
// nothing on standard input. Every word of it that comes from outside MUST have
// gone through shell.Quote, and unless it says Once it MUST only look: it may be
// run twice.
type Script struct {
	Text     string
	Patience time.Duration // how long its answer may stand still, 0 for the client's
	Most     int           // bytes of the answer, 0 for 64 MB
	Long     bool          // it keeps others waiting: ask it beside them
	Pack     bool          // the answer travels compressed where the host can; then its status is lost
	Once     bool          // it changes something: it is never sent a second time
}

// ErrUnknown says that a script was sent once and not answered: it ran, or it did
// not.
var ErrUnknown = errors.New("the connection was cut after it was sent, so nobody knows whether it was done")

// Answer is what a script printed.
type Answer struct {
	Out    []byte
	Said   string // on standard error, its first 4 KB
	Status int
}

const (
	usualPatience = 20 * time.Second
	maxAnswer     = 64 << 20
)

// Ask runs a script on the host. Where the connection is cut under it, it is
// asked once more on a new one, unless it says Once. The error wraps a sentinel of
// source or ErrUnknown, or is the context's.
func (h *Host) Ask(ctx context.Context, s Script) (Answer, error) {
	s.Patience, s.Most = cmp.Or(s.Patience, h.client.Patience, usualPatience), cmp.Or(s.Most, maxAnswer)
	var err error
	for range 2 {
		var l *lane
		var has features
		if l, has, err = h.laneFor(ctx, s.Long); err != nil {
			return Answer{}, err
		}
		text, packed := s.Text, s.Pack && has.gzip
		if packed {
			text = "{\n" + text + "\n} | gzip -1"
		}
		var o *order
		if o, err = l.run(ctx, text, s.Patience, s.Most); err == nil {
			return o.answer(packed, s.Most)
		}
		if s.Once && !errors.Is(err, errUnsent) {
			return Answer{}, fmt.Errorf("ssh: %s: %w: %w", h.address, ErrUnknown, err)
		}
		if !errors.Is(err, errBroken) {
			return Answer{}, fmt.Errorf("ssh: %s: %w", h.address, err)
		}
	}
	return Answer{}, fmt.Errorf("ssh: %s: %w: %w", h.address, err, source.ErrUnreachable)
}

// answer unpacks what was said; more than most bytes are an error, since the
// rest would be missed.
func (o *order) answer(packed bool, most int) (Answer, error) {
	a := Answer{o.said[output].Bytes(), o.said[complaints].String(), o.status}
	if o.said[output].missed {
		return a, fmt.Errorf("ssh: an answer has more than %d MB: %w", most>>20, source.ErrNoEvidence)
	}
	if !packed {
		return a, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(a.Out))
	if err == nil {
		a.Out, err = io.ReadAll(io.LimitReader(z, int64(most)))
	}
	if err != nil {
		return a, fmt.Errorf("ssh: an answer is damaged: %w: %w", err, source.ErrUnreachable)
	}
	return a, nil
}

// laneFor gives a lane that works, connecting if there is none.
func (h *Host) laneFor(ctx context.Context, long bool) (*lane, features, error) {
	if err := h.acquire(ctx); err != nil {
		return nil, features{}, err
	}
	defer h.release()
	if h.lane == nil || !h.lane.works() {
		if err := h.renew(ctx); err != nil {
			return nil, features{}, err
		}
	}
	if long {
		return h.beside(ctx), h.features, nil
	}
	return h.lane, h.features, nil
}

// renew connects, unless it failed only just now.
func (h *Host) renew(ctx context.Context) error {
	h.drop()
	if time.Now().Before(h.again) {
		return h.failed
	}
	if err := h.connect(ctx); err != nil {
		if ctx.Err() == nil {
			h.failed, h.failures = err, h.failures+1
			h.again = time.Now().Add(min(time.Second<<min(h.failures-1, 10), time.Minute))
		}
		return err
	}
	h.failed, h.failures = nil, 0
	return nil
}

func (l *lane) works() bool {
	select {
	case <-l.ended:
		return false
	default:
		return true
	}
}

// beside is a second lane, or the first where the server allows no other.
func (h *Host) beside(ctx context.Context) *lane {
	if h.side != nil && h.side.works() {
		return h.side
	}
	if h.alone {
		return h.lane
	}
	s, err := h.line.open(ctx)
	if err == nil {
		h.side, err = newLane(ctx, s)
	}
	if err != nil {
		h.alone, h.side = true, nil
		return h.lane
	}
	return h.side
}

// connect makes the connection and its lane.
func (h *Host) connect(ctx context.Context) error {
	s, err := h.client.settings(h.address)
	if err != nil {
		return err
	}
	h.way, h.key = s.system, ""
	if h.way == "" {
		var n *native
		n, err = h.client.dial(ctx, s, 0)
		switch {
		case err == nil:
			h.line, h.key = n, n.key
		case errors.Is(err, errSystem):
			h.way = "our own client could not log in"
		default:
			return err
		}
	}
	own := err
	if h.way != "" {
		h.line = h.client.openSSH(h.address, s.home)
	}
	ses, err := h.line.open(ctx)
	if err == nil {
		h.lane, err = newLane(ctx, ses)
	}
	if err == nil {
		err = h.survey(ctx)
	}
	if err == nil {
		return nil
	}
	h.drop()
	if own != nil { // the system's ssh does no better, and what our own said is clearer
		return own
	}
	return h.noShell(ctx, err)
}

// noShell is the error when a connection has no shell to offer.
func (h *Host) noShell(ctx context.Context, err error) error {
	kind := source.ErrUnreachable
	if text := err.Error(); strings.Contains(text, "open failed") || strings.Contains(text, "ermission denied") || strings.Contains(text, "host key is known") || strings.Contains(text, "erification failed") || strings.Contains(text, "it says") {
		kind = source.ErrDenied
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return fmt.Errorf("ssh: %s gives no shell; try: ssh %s true: %w: %w", h.address, h.address, err, kind)
}

// survey asks which programs there are.
func (h *Host) survey(ctx context.Context) error {
	o, err := h.lane.run(ctx, "command -v gzip && echo has gzip\nstat -Lc '%d:%i %s %y %f' / && echo has stat", usualPatience, 1<<10)
	if err != nil {
		return err
	}
	said := o.said[output].String()
	h.features = features{gzip: strings.Contains(said, "has gzip")}
	if !strings.Contains(said, "has stat") {
		return fmt.Errorf("its stat knows no -c (GNU's and busybox's do): %w", source.ErrNoEvidence)
	}
	return nil
}
