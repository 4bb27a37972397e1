package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	ways "github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/transport"
	"github.com/trainmedic/trainmedic/tools"
)

// net is a server on two ports of the loopback.
type net struct {
	http, sse string
	stop      func() error // ends it and waits
}

func listen(t *testing.T, s *tools.Server, n transport.Network) *net {
	t.Helper()
	var out net
	n.HTTP, n.SSE = "127.0.0.1:0", "localhost:0"
	n.Say = func(line string) {
		_, url, _ := strings.Cut(line, " on ")
		if strings.HasSuffix(url, "/mcp") {
			out.http = url
		} else if strings.HasSuffix(url, "/sse") {
			out.sse = url
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	serve, err := s.Listen(ctx, n)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- serve() }()
	out.stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() {
		if err := out.stop(); err != nil {
			t.Error(err)
		}
	})
	return &out
}

// peer is a client and what it was told.
type peer struct {
	*mcpclient.Client
	told chan mcp.JSONRPCNotification
}

// connect opens a client: "http", "modern" (the era without sessions) or "sse".
func connect(t *testing.T, n *net, way string, header map[string]string) *peer {
	t.Helper()
	var tr ways.Interface
	var err error
	version := mcp.ProtocolVersion20251125
	switch way {
	case "sse":
		tr, err = ways.NewSSE(n.sse, ways.WithHeaders(header))
	case "modern":
		version = mcp.ProtocolVersion20260728
		fallthrough
	default:
		tr, err = ways.NewStreamableHTTP(n.http, ways.WithHTTPHeaders(header))
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{mcpclient.NewClient(tr, mcpclient.WithProtocolVersion(version)), make(chan mcp.JSONRPCNotification, 100)}
	p.OnNotification(func(n mcp.JSONRPCNotification) { p.told <- n })
	if err := p.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = version
	hello.Params.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
	if _, err := p.Initialize(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	return p
}

func request(tool string, args map[string]any) mcp.CallToolRequest {
	var r mcp.CallToolRequest
	r.Params.Name, r.Params.Arguments = tool, args
	return r
}

// until waits for a notification of a method.
func (p *peer) until(t *testing.T, method string) mcp.JSONRPCNotification {
	t.Helper()
	for {
		select {
		case n := <-p.told:
			if n.Method == method {
				return n
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no %s came", method)
		}
	}
}

var allWays = []string{"http", "modern", "sse"}

func TestEveryTransportHasEverything(t *testing.T) {
	n := listen(t, newServer(t, tools.Config{}), transport.Network{})
	log := trainLog(t, 300)
	for _, way := range allWays {
		t.Run(way, func(t *testing.T) {
			c := connect(t, n, way, nil)
			l, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
			if err != nil || len(l.Tools) != len(resultSchemas)+3 { // monitor_run, run_action and await_approval have results of their own
				t.Fatalf("%d tools: %v", len(l.Tools), err)
			}
			for tool := range resultSchemas {
				r, err := c.CallTool(t.Context(), request(tool, map[string]any{"target": log}))
				if err != nil || r.IsError || r.StructuredContent == nil {
					t.Errorf("%s: %+v, %v", tool, r, err)
				}
			}
			if p, err := c.ListPrompts(t.Context(), mcp.ListPromptsRequest{}); err != nil || len(p.Prompts) != 2 {
				t.Errorf("prompts: %+v, %v", p, err)
			}
			var get mcp.GetPromptRequest
			get.Params.Name, get.Params.Arguments = "babysit-training", map[string]string{"target": log}
			if p, err := c.GetPrompt(t.Context(), get); err != nil || len(p.Messages) != 1 {
				t.Errorf("prompt: %+v, %v", p, err)
			}
			var read mcp.ReadResourceRequest
			read.Params.URI = "trainmedic://schemas/check-failed-run"
			if r, err := c.ReadResource(t.Context(), read); err != nil || len(r.Contents) != 1 {
				t.Errorf("resource: %+v, %v", r, err)
			}
			if r, err := c.ListResourceTemplates(t.Context(), mcp.ListResourceTemplatesRequest{}); err != nil || len(r.ResourceTemplates) == 0 {
				t.Errorf("templates: %+v, %v", r, err)
			}
			var complete mcp.CompleteRequest
			complete.Params.Ref = mcp.PromptReference{Type: "ref/prompt", Name: "check-failed-run"}
			complete.Params.Argument = mcp.CompleteArgument{Name: "framework", Value: "py"}
			if r, err := c.Complete(t.Context(), complete); err != nil || !slices.Equal(r.Completion.Values, []string{"pytorch"}) {
				t.Errorf("completion: %+v, %v", r, err)
			}
		})
	}
}

// slow is a doctor that looks until it is told to stop, and notes how a look
// ended.
type slow struct {
	began chan struct{}
	ended chan error
	stop  chan struct{}
}

func newSlow() *slow {
	return &slow{make(chan struct{}, 100), make(chan error, 100), make(chan struct{})}
}

func (s *slow) Diagnose(ctx context.Context, r diagnose.Request) (*diagnose.Result, error) {
	s.began <- struct{}{}
	select {
	case <-s.stop:
		s.ended <- nil
		return &diagnose.Result{Diagnosis: sample(r, "local-log")}, nil
	case <-ctx.Done():
		s.ended <- ctx.Err()
		return nil, ctx.Err()
	}
}

func TestProgressAndLogsComeOnEveryTransport(t *testing.T) {
	for _, way := range allWays {
		t.Run(way, func(t *testing.T) {
			d := newSlow()
			c := connect(t, listen(t, newServer(t, tools.Config{Doctor: d, Pulse: 5 * time.Millisecond}), transport.Network{}), way, nil)
			r := request("plan_recovery", map[string]any{"text": "boom"})
			r.Params.Meta = &mcp.Meta{ProgressToken: "p7"}
			if way == "modern" { // it says with each request what it wants
				r.Params.Meta.AdditionalFields = map[string]any{"io.modelcontextprotocol/logLevel": "info"}
			} else {
				var l mcp.SetLevelRequest
				l.Params.Level = mcp.LoggingLevelInfo
				if err := c.SetLevel(t.Context(), l); err != nil { //nolint:staticcheck // the older era has it
					t.Fatal(err)
				}
			}
			answer := make(chan error, 1)
			go func() {
				_, err := c.CallTool(t.Context(), r)
				answer <- err
			}()
			<-d.began
			if p := c.until(t, "notifications/progress"); p.Params.AdditionalFields["progressToken"] != "p7" {
				t.Errorf("%+v", p)
			}
			close(d.stop)
			if m := c.until(t, "notifications/message"); fmt.Sprint(m.Params.AdditionalFields["data"].(map[string]any)["tool"]) != "plan_recovery" {
				t.Errorf("%+v", m)
			}
			if err := <-answer; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestACallEndsWithItsClient(t *testing.T) {
	d := newSlow()
	n := listen(t, newServer(t, tools.Config{Doctor: d}), transport.Network{})
	for _, way := range allWays {
		for _, how := range []string{"cancels", "leaves"} {
			t.Run(way+" "+how, func(t *testing.T) {
				c := connect(t, n, way, nil)
				ctx, cancel := context.WithCancel(t.Context())
				go c.CallTool(ctx, request("plan_recovery", map[string]any{"text": "boom"}))
				<-d.began
				switch {
				case way != "sse": // over HTTP a client leaves with its call, whatever it says
					cancel()
				case how == "leaves":
					c.Close()
				default:
					n := mcp.JSONRPCNotification{JSONRPC: "2.0"}
					n.Method, n.Params.AdditionalFields = "notifications/cancelled", map[string]any{"requestId": 2}
					if err := c.GetTransport().SendNotification(t.Context(), n); err != nil {
						t.Error(err)
					}
				}
				select {
				case err := <-d.ended:
					if err == nil {
						t.Error("the call ended by itself")
					}
				case <-time.After(10 * time.Second):
					t.Error("the call goes on")
				}
				cancel()
			})
		}
	}
}

// TestNobodyCancelsTheCallOfAnother: clients of the newer era have no sessions,
// and all of them number their calls from one.
func TestNobodyCancelsTheCallOfAnother(t *testing.T) {
	d := newSlow()
	n := listen(t, newServer(t, tools.Config{Doctor: d}), transport.Network{})
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	answer := make(chan string, 1)
	go func() {
		answer <- post(t, n.http, `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"plan_recovery","arguments":{"text":"boom"},`+meta+`}}`,
			map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "plan_recovery"})
	}()
	<-d.began
	cancel := `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,` + meta + `}}`
	for _, header := range []map[string]string{{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "notifications/cancelled"}, {"Mcp-Protocol-Version": "2025-11-25"}, nil} {
		post(t, n.http, cancel, header)
		post(t, n.http, strings.ReplaceAll(cancel, meta, `"reason":"x"`), header)
	}
	select {
	case err := <-d.ended:
		t.Errorf("the call was ended from outside: %v", err)
	default:
	}
	close(d.stop)
	if a := <-answer; !strings.Contains(a, "structuredContent") {
		t.Errorf("the call got %s", a)
	}
}

func post(t *testing.T, url, body string, header map[string]string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range header {
		r.Header.Set(k, v)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer a.Body.Close()
	b, _ := io.ReadAll(a.Body)
	return fmt.Sprintf("%d %s", a.StatusCode, b)
}

// waited are watches that tell who waits for news.
type waited struct {
	tools.Watches
	waits chan string
}

func (w waited) Wait(ctx context.Context, id string, cursor int, fresh bool) (monitor.Status, error) {
	if !fresh {
		w.waits <- id
	}
	return w.Watches.Wait(ctx, id, cursor, fresh)
}

func TestAnEndingServerAnswersThoseWhoWait(t *testing.T) {
	waits := make(chan string, 10)
	n := listen(t, newServer(t, tools.Config{Watches: waited{newDesk(t, t.TempDir()), waits}}), transport.Network{})
	log := trainLog(t, 50)
	type end struct {
		way string
		v   tools.WatchState
		err error
	}
	ends := make(chan end, len(allWays))
	for _, way := range allWays {
		c := connect(t, n, way, nil)
		first, err := watchCall(t.Context(), c, map[string]any{"target": log})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			v, err := watchCall(t.Context(), c, map[string]any{"monitor_id": first.MonitorID, "cursor": first.Cursor, "wait_seconds": 50})
			ends <- end{way, v, err}
		}()
	}
	for range allWays {
		<-waits
	}
	began := time.Now()
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	for range allWays {
		if e := <-ends; e.err != nil || e.v.Cursor == "" || e.v.State != report.StateRunning {
			t.Errorf("%s: %+v, %v", e.way, e.v, e.err)
		}
	}
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("it took %v", took)
	}
}

func watchCall(ctx context.Context, c *peer, args map[string]any) (v tools.WatchState, err error) {
	r, err := c.CallTool(ctx, request("monitor_run", args))
	if err != nil {
		return v, err
	}
	b, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	return v, err
}

func TestATokenIsWantedOnEveryPath(t *testing.T) {
	const token = "tm_ATESTTOKENATESTTOKEN"
	n := listen(t, newServer(t, tools.Config{}), transport.Network{Token: token})
	hello := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for _, url := range []string{n.http, n.sse, strings.Replace(n.sse, "/sse", "/message?sessionId=tms_MADEUP", 1)} {
		for header, want := range map[string]string{"": "401", "Bearer wrong": "401"} {
			if a := post(t, url, hello, map[string]string{"Authorization": header}); !strings.HasPrefix(a, want) {
				t.Errorf("%s with %q: %s", url, header, a)
			}
		}
		if a := post(t, url, hello, map[string]string{"Authorization": "Bearer " + token, "Origin": "https://evil.example"}); !strings.HasPrefix(a, "403") {
			t.Errorf("%s from a strange page: %s", url, a)
		}
	}
	for _, way := range allWays {
		c := connect(t, n, way, map[string]string{"Authorization": "Bearer " + token})
		if _, err := c.ListTools(t.Context(), mcp.ListToolsRequest{}); err != nil {
			t.Errorf("%s: %v", way, err)
		}
	}
}

func TestRootsBindEveryTool(t *testing.T) {
	inside := trainLog(t, 20)
	outside := write(t, "secret.log", "step 1/2 loss=1.0 the secret\n")
	roots, err := source.NewRoots([]string{strings.TrimSuffix(inside, "/train.log")})
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, newServer(t, tools.Config{Roots: roots})).hello()
	for tool := range resultSchemas {
		if r := c.call(tool, map[string]any{"target": inside}); r.IsError {
			t.Errorf("%s: %s", tool, r.Content[0].Text)
		}
		for _, args := range []map[string]any{
			{"target": outside},
			{"target": "file:" + outside},
			{"target": strings.TrimSuffix(outside, "secret.log")},
			{"target": "artifacts:/etc"},
			{"target": "/etc/*"},
			{"target": inside, "artifacts": "/etc"},
			{"target": "/no/such/file.log"},
		} {
			if f := c.fails(tool, args); f.Kind != report.KindDenied && f.Kind != report.KindBadTarget || strings.Contains(f.Message, "secret\n") {
				t.Errorf("%s %v: %+v", tool, args, f)
			}
		}
	}
	if f := c.fails("check_failed_run", map[string]any{"target": inside, "out_dir": "/tmp"}); f.Kind != report.KindDenied {
		t.Errorf("out_dir: %+v", f)
	}
	if f := c.fails("monitor_run", map[string]any{"target": outside}); f.Kind != report.KindDenied {
		t.Errorf("monitor_run: %+v", f)
	}
	a := c.request("completion/complete", map[string]any{"ref": map[string]any{"type": "ref/prompt", "name": "check-failed-run"}, "argument": map[string]any{"name": "target", "value": "/etc/"}})
	if a.Error != nil || !strings.Contains(string(a.Result), `"values":[]`) {
		t.Errorf("completion lists /etc: %s", a.Result)
	}
}
