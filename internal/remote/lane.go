package remote

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"
)

// shellCommand is all that the account's login shell, whichever it is, is asked
// to run. Everything else is read by the POSIX shell that it becomes.
const shellCommand = "exec sh"

// lane is one shell on a host that lives as long as the connection. Scripts are
// sent one behind the other without waiting, and answered in order: what a
// script prints ends with a mark that no file can hold by chance. A script runs
// in a subshell of its own, with nothing on standard input.
type lane struct {
	*session
	mark  string
	ended chan struct{} // closed when the lane is of no use any more

	mu    sync.Mutex // of what follows, and of writing
	queue []*order   // sent and not answered
	dead  error
	timer *time.Timer // of the first one's patience
}

// order is a script on its way.
type order struct {
	patience time.Duration // how long the answer may stand still
	said     [2]kept       // on standard output and standard error
	ended    [2]bool
	status   int
	done     chan struct{}
}

// The two streams of a lane.
const (
	output = iota
	complaints
)

func newOrder(patience time.Duration, most int) *order {
	o := &order{patience: patience, done: make(chan struct{})}
	o.said[output].most, o.said[complaints].most = most, maxComplaints
	return o
}

// kept keeps the first bytes; the rest is dropped, and missed says so.
type kept struct {
	bytes.Buffer
	most   int
	missed bool
}

func (k *kept) Write(p []byte) (int, error) {
	n := min(len(p), k.most-k.Len())
	k.missed = k.missed || n < len(p)
	k.Buffer.Write(p[:n])
	return len(p), nil
}

// errBroken says that a lane ended before it had answered.
var errBroken = errors.New("the connection was cut")

// errUnsent says that it had ended before anything was sent.
var errUnsent = errors.New("nothing was sent")

const (
	maxComplaints = 4 << 10
	helloPatience = 15 * time.Second
	lastWords     = 300 * time.Millisecond
)

// newLane makes a lane of a session, and waits until its shell answers. What the
// account prints at login is passed over.
func newLane(ctx context.Context, s *session) (*lane, error) {
	l := &lane{session: s, mark: "trainmedic-" + rand.Text(), ended: make(chan struct{})}
	hello := newOrder(helloPatience, 1<<10)
	over := make(chan struct{ err error }, 2)
	go func() { over <- struct{ err error }{l.read(s.out, output)} }()
	go func() { over <- struct{ err error }{l.read(s.err, complaints)} }()
	go func() {
		first := <-over
		select {
		case <-over:
		case <-time.After(lastWords): // the other stream may say why
		}
		l.fail(fmt.Errorf("%w: %w", errBroken, first.err))
	}()
	err := l.send(hello, "LC_ALL=C; export LC_ALL; unset CDPATH ENV BASH_ENV GREP_OPTIONS\n")
	if err == nil {
		err = l.wait(ctx, hello)
	}
	if err != nil {
		said := strings.TrimSpace(hello.said[complaints].String() + " " + hello.said[output].String())
		l.fail(errBroken)
		if ctx.Err() == nil && said != "" {
			return nil, fmt.Errorf("%w; it says: %.300q", err, said)
		}
		return nil, err
	}
	return l, nil
}

// run runs a script. The error is errBroken or the context's; an order that was
// given up goes on, and its answer is dropped.
func (l *lane) run(ctx context.Context, script string, patience time.Duration, most int) (*order, error) {
	o := newOrder(patience, most)
	if err := l.send(o, "(\n"+script+"\n) </dev/null\n"); err != nil {
		return nil, err
	}
	return o, l.wait(ctx, o)
}

func (l *lane) wait(ctx context.Context, o *order) error {
	select {
	case <-o.done:
		return nil
	default:
	}
	select {
	case <-o.done:
		return nil
	case <-l.ended:
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.dead
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *lane) send(o *order, script string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead != nil {
		return fmt.Errorf("%w: %w", errUnsent, l.dead)
	}
	if l.queue = append(l.queue, o); len(l.queue) == 1 {
		l.timer = time.AfterFunc(o.patience, l.stalled)
	}
	text := script + "t=$?; printf '\\n%s %d\\n' " + l.mark + " $t; printf '\\n%s %d\\n' " + l.mark + " $t >&2\n"
	if _, err := io.WriteString(l.in, text); err != nil {
		go l.fail(fmt.Errorf("%w: %w", errBroken, err))
		return errBroken
	}
	return nil
}

func (l *lane) stalled() {
	l.fail(fmt.Errorf("%w: it has not answered for long", errBroken))
}

// fail ends the lane; what waits for it is told.
func (l *lane) fail(err error) {
	l.session.close() // before the lock: a writer that hangs lets go of it
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead != nil {
		return
	}
	l.dead = err
	if l.timer != nil {
		l.timer.Stop()
	}
	close(l.ended)
}

// read takes one of the two streams apart, order by order, until it ends.
func (l *lane) read(r io.Reader, stream int) error {
	b := bufio.NewReaderSize(r, 256<<10)
	for {
		w := sink{l, stream}
		if err := upTo(b, []byte("\n"+l.mark+" "), w); err != nil {
			return err
		}
		status, err := b.ReadString('\n')
		if err != nil {
			return err
		}
		l.answered(stream, strings.TrimSpace(status))
	}
}

// sink takes the bytes of a stream for the order that is being answered there.
type sink struct {
	lane   *lane
	stream int
}

// Write implements io.Writer.
func (s sink) Write(p []byte) (int, error) {
	s.lane.mu.Lock()
	defer s.lane.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	o := s.lane.at(s.stream)
	if o == nil {
		return 0, errors.New("it speaks unasked")
	}
	s.lane.timer.Reset(s.lane.queue[0].patience)
	return o.said[s.stream].Write(p)
}

// at is the first order that has not been answered on a stream.
func (l *lane) at(stream int) *order {
	for _, o := range l.queue {
		if !o.ended[stream] {
			return o
		}
	}
	return nil
}

// answered notes that one of an order's streams has ended.
func (l *lane) answered(stream int, status string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.at(stream)
	if o == nil {
		return
	}
	o.ended[stream] = true
	if n, err := strconv.Atoi(status); err == nil {
		o.status = n
	}
	for len(l.queue) > 0 && l.queue[0].ended == [2]bool{true, true} {
		close(l.queue[0].done)
		l.timer.Stop()
		if l.queue = l.queue[1:]; len(l.queue) > 0 {
			l.timer.Reset(l.queue[0].patience)
		}
	}
}

// upTo copies to w what comes before a mark, and passes over the mark.
func upTo(r *bufio.Reader, mark []byte, w io.Writer) error {
	for {
		b, err := r.Peek(max(len(mark), r.Buffered()))
		if i := bytes.Index(b, mark); i >= 0 {
			if _, err := w.Write(b[:i]); err != nil {
				return err
			}
			_, err := r.Discard(i + len(mark))
			return err
		}
		n := max(0, len(b)-len(mark)+1) // what stays may begin the mark
		if err != nil {
			n = len(b)
		}
		if _, err := w.Write(b[:n]); err != nil {
			return err
		}
		if err != nil {
			return err
		}
		if _, err := r.Discard(n); err != nil {
			return err
		}
		if n+r.Buffered() > len(b) { // more came than was looked at
			continue
		}
		_, _ = r.Peek(r.Buffered() + 1) // waits; an error comes again above
	}
}
