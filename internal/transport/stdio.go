package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// Stdio answers one client on the given streams until ctx or stdin ends.
func (s *Service) Stdio(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	stdio := server.NewStdioServer(s.mcp)
	stdio.SetErrorLogger(log.New(stderr, "trainmedic serve: ", 0))
	server.WithWorkerPoolSize(workers)(stdio)
	open := newUnanswered()
	out := &answering{to: stdout, open: open}
	calls, cut := context.WithCancel(context.WithValue(context.WithoutCancel(ctx), tellerKey{}, out))
	defer cut()
	out.gone = cut
	stop := context.AfterFunc(ctx, func() {
		s.end()
		open.wait(calls, grace)
		cut()
	})
	defer stop()
	err := stdio.Listen(calls, &asking{from: stdin, open: open, ctx: calls, ended: s.end}, out)
	if err != nil && calls.Err() == nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("transport: stdio: %w", err)
	}
	return nil
}

// unanswered holds the ids of the requests that have no answer yet.
type unanswered struct {
	mu      sync.Mutex
	ids     map[string]bool
	changed chan struct{}
}

func newUnanswered() *unanswered {
	return &unanswered{ids: map[string]bool{}, changed: make(chan struct{}, 1)}
}

func (u *unanswered) len() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.ids)
}

// asked notes a message of the client: a request opens its id.
func (u *unanswered) asked(line []byte) {
	if id, method := head(line); id != "" && method != "" {
		u.mu.Lock()
		u.ids[id] = true
		u.mu.Unlock()
	}
}

// answered notes a message of the server: a response closes its id.
func (u *unanswered) answered(line []byte) {
	id, method := head(line)
	if id == "" || method != "" {
		return
	}
	u.mu.Lock()
	delete(u.ids, id)
	u.mu.Unlock()
	select {
	case u.changed <- struct{}{}:
	default:
	}
}

func head(line []byte) (id, method string) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	if json.Unmarshal(line, &m) != nil {
		return "", ""
	}
	return string(m.ID), m.Method
}

// wait returns when every request has its answer, or most or ctx is over.
func (u *unanswered) wait(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	for u.len() > 0 {
		select {
		case <-u.changed:
		case <-ctx.Done():
			return
		}
	}
}

// asking is standard input whose end ends the calls that only wait, and waits for
// the answers of all.
type asking struct {
	from  io.Reader
	open  *unanswered
	ctx   context.Context // of the one call of Listen that reads it
	ended func()          // has those that only wait answer at once
	part  []byte
}

func (a *asking) Read(p []byte) (int, error) {
	n, err := a.from.Read(p)
	a.part = eachLine(append(a.part, p[:n]...), a.open.asked)
	if errors.Is(err, io.EOF) {
		a.ended()
		a.open.wait(a.ctx, grace)
	}
	return n, err
}

// answering is standard output that notes the answers. When it takes none any
// more the client is gone.
type answering struct {
	to   io.Writer
	open *unanswered
	gone func()

	mu   sync.Mutex
	part []byte
}

func (a *answering) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n, err := a.to.Write(p)
	a.part = eachLine(append(a.part, p[:n]...), a.open.answered)
	if err != nil {
		a.gone()
	}
	return n, err
}

func (a *answering) tell(message []byte) {
	_, _ = a.Write(append(message, '\n')) // a client that is gone shows in the end of its input
}

// eachLine hands over the whole lines and returns the rest.
func eachLine(b []byte, f func([]byte)) []byte {
	for {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		if !ok {
			return b
		}
		f(line)
		b = rest
	}
}
