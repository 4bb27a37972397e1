package transport_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/trainmedic/trainmedic/internal/transport"
)

// calls are the tools of a server under test: echo answers at once, tell says
// something right before its answer, wait answers with a cursor when the server
// has to end, hang goes on until its client is gone, ask asks its client's user.
type calls struct {
	way   *transport.Service
	began chan struct{} // of wait and hang
	ended chan error    // of hang
}

func newCalls() *calls {
	c := &calls{began: make(chan struct{}, 1000), ended: make(chan error, 1000)}
	m := server.NewMCPServer("test", "1", server.WithToolCapabilities(false), server.WithLogging())
	c.way = transport.New(m)
	for name, f := range map[string]func(ctx context.Context, req mcp.CallToolRequest) string{
		"echo": func(_ context.Context, req mcp.CallToolRequest) string { return req.GetString("text", "") },
		"tell": func(ctx context.Context, _ mcp.CallToolRequest) string {
			c.way.Tell(ctx, "notifications/progress", map[string]any{"progressToken": 1, "progress": 1})
			c.way.Log(ctx, mcp.LoggingLevelEmergency, "test", "said")
			c.way.Log(ctx, mcp.LoggingLevelDebug, "test", "not wanted")
			return "told"
		},
		"wait": func(ctx context.Context, _ mcp.CallToolRequest) string {
			ctx, stop := c.way.Waiting(ctx)
			defer stop()
			c.began <- struct{}{}
			<-ctx.Done()
			return "cursor 7"
		},
		"hang": func(ctx context.Context, _ mcp.CallToolRequest) string {
			ctx, stop := transport.Bound(ctx)
			defer stop()
			c.began <- struct{}{}
			<-ctx.Done()
			c.ended <- ctx.Err()
			return "gone"
		},
		"ask": func(ctx context.Context, _ mcp.CallToolRequest) string {
			c.way.Tell(ctx, "notifications/progress", map[string]any{"progressToken": 1, "progress": 1})
			var ask mcp.ElicitationRequest
			ask.Params.Message, ask.Params.RequestedSchema = "Well?", map[string]any{"type": "object", "properties": map[string]any{}}
			r, err := m.RequestElicitation(ctx, ask)
			if err != nil {
				return err.Error()
			}
			return fmt.Sprint(r.Action, r.Content)
		},
	} {
		m.AddTool(mcp.NewTool(name), func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText(f(ctx, req)), nil
		})
	}
	return c
}

// site is a server that listens, with both HTTP transports on ports of their own.
type site struct {
	*calls
	http, sse string // where a request goes and where a stream begins
	said      *lines
	stop      func() error // ends the server and waits
}

// lines is what a server said.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(s string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

func open(t *testing.T, n transport.Network) *site {
	t.Helper()
	s := &site{calls: newCalls(), said: &lines{}}
	if n.HTTP == "" {
		n.HTTP, n.SSE = "127.0.0.1:0", "localhost:0"
	}
	n.Say = s.said.add
	ctx, cancel := context.WithCancel(t.Context())
	serve, err := s.way.Listen(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range s.said.all {
		_, url, _ := strings.Cut(line, " on ")
		switch {
		case strings.HasSuffix(url, "/mcp"):
			s.http = url
		case strings.HasSuffix(url, "/sse"):
			s.sse = url
		}
	}
	done := make(chan error, 1)
	go func() { done <- serve() }()
	s.stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { s.stop() })
	return s
}

// reply is an answer over HTTP; a stream of events is read to its first answer.
type reply struct {
	status int
	header http.Header
	body   string
}

// ask sends one request; edit may change it. err is for clients that are cut off.
func ask(ctx context.Context, method, url, body string, edit ...func(*http.Request)) (reply, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, e := range edit {
		e(r)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	return reply{a.StatusCode, a.Header, string(b)}, err
}

func mustAsk(t *testing.T, method, url, body string, edit ...func(*http.Request)) reply {
	t.Helper()
	a, err := ask(t.Context(), method, url, body, edit...)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}`

// call is a call of a tool.
func call(id int, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":"here"}}}`, id, tool)
}

// session opens one over streamable HTTP and gives what its requests carry.
func session(t *testing.T, s *site) func(*http.Request) {
	t.Helper()
	a := mustAsk(t, http.MethodPost, s.http, hello)
	id := a.header.Get("Mcp-Session-Id")
	if a.status != 200 || id == "" {
		t.Fatalf("no session: %+v", a)
	}
	return named(id)
}

func named(session string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set("Mcp-Session-Id", session) }
}

func header(key, value string) func(*http.Request) {
	return func(r *http.Request) {
		if key == "Host" {
			r.Host = value
			return
		}
		r.Header.Set(key, value)
	}
}

// listener reads the events of a stream: of the older transport, of a GET, or of
// the answer to a call.
type listener struct {
	post   string // where the requests of the older transport go
	events chan string
	leave  func()
}

func listen(t *testing.T, method, url, body string, edit ...func(*http.Request)) *listener {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, e := range edit {
		e(r)
	}
	a, err := http.DefaultClient.Do(r) //nolint:bodyclose // the goroutine below does
	if err != nil || a.StatusCode != 200 {
		t.Fatalf("no stream: %v, %v", a, err)
	}
	l := &listener{events: make(chan string, 100), leave: cancel}
	t.Cleanup(cancel)
	go func() {
		defer a.Body.Close()
		defer close(l.events)
		for in := bufio.NewScanner(a.Body); in.Scan(); {
			if data, ok := strings.CutPrefix(in.Text(), "data: "); ok {
				l.events <- data
			}
		}
	}()
	if base, ok := strings.CutSuffix(url, "/sse"); ok {
		l.post = base + l.next(t)
	}
	return l
}

// next is the next event.
func (l *listener) next(t *testing.T) string {
	t.Helper()
	select {
	case e, ok := <-l.events:
		if !ok {
			t.Fatal("the stream has ended")
		}
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event came")
	}
	return ""
}

// older is a client of the older transport that has said hello.
func older(t *testing.T, s *site) *listener {
	t.Helper()
	l := listen(t, http.MethodGet, s.sse, "")
	if a := mustAsk(t, http.MethodPost, l.post, hello); a.status != http.StatusAccepted {
		t.Fatalf("%+v", a)
	}
	l.next(t)
	return l
}

// text is what a tool answered, "" for anything else.
func text(message string) string {
	if _, data, ok := strings.Cut(message, "data: "); ok {
		message = data
	}
	var m struct {
		Result struct {
			Content []struct{ Text string }
		}
	}
	if json.Unmarshal([]byte(message), &m) != nil || len(m.Result.Content) == 0 {
		return ""
	}
	return m.Result.Content[0].Text
}

// soon waits for something that a goroutine does.
func soon[T any](t *testing.T, c <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came of: " + what)
	}
	return v
}
