// Package gosdk tests the built MCP server with the official Go SDK as its
// client. It is a module of its own, so that the product does not depend on a
// second SDK; test/sdk.sh runs it.
package gosdk

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// program is a built program that the environment names.
func program(t *testing.T, name string) string {
	t.Helper()
	path := os.Getenv(name)
	if path == "" {
		t.Skipf("%s is not set: test/sdk.sh builds it and runs this", name)
	}
	return path
}

// listening starts a server on both HTTP transports and gives their addresses.
func listening(t *testing.T, argv ...string) map[string]string {
	t.Helper()
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	said, err := c.StderrPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	all, part := "", make([]byte, 1000)
	for {
		n, err := said.Read(part)
		all += string(part[:n])
		http, sse := regexp.MustCompile(`http:\S+/mcp`).FindString(all), regexp.MustCompile(`http:\S+/sse`).FindString(all)
		if http != "" && sse != "" {
			go io.Copy(io.Discard, said)
			return map[string]string{"http": http, "sse": sse}
		}
		if err != nil {
			t.Fatalf("%v: %s", err, all)
		}
	}
}

// connect opens a session: over stdio with a server of its own, else with one
// that listens.
func connect(t *testing.T, way string, at map[string]string, argv []string, o *mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	var tr mcp.Transport
	switch way {
	case "stdio":
		c := exec.Command(argv[0], argv[1:]...)
		c.Env = append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
		tr = &mcp.CommandTransport{Command: c}
	case "http":
		tr = &mcp.StreamableClientTransport{Endpoint: at["http"]}
	case "sse":
		tr = &mcp.SSEClientTransport{Endpoint: at["sse"]}
	}
	s, err := mcp.NewClient(&mcp.Implementation{Name: "go-sdk-test", Version: "1"}, o).Connect(t.Context(), tr, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// call calls a tool and wants an answer that is no error; into takes its
// structured content.
func call(t *testing.T, s *mcp.ClientSession, p *mcp.CallToolParams, into any) {
	t.Helper()
	r, err := s.CallTool(t.Context(), p)
	if err != nil || r.IsError {
		t.Fatalf("%s: %v %+v", p.Name, err, r)
	}
	b, err := json.Marshal(r.StructuredContent)
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

var ways = []string{"stdio", "http", "sse"}

func TestEverythingOnEveryTransport(t *testing.T) {
	tm := program(t, "TRAINMEDIC")
	at := listening(t, tm, "serve", "--http", "127.0.0.1:0", "--sse", "127.0.0.1:0")
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			s := connect(t, way, at, []string{tm, "serve"}, nil)
			target := map[string]any{"target": program(t, "LOG")}
			names := 0
			for tool, err := range s.Tools(t.Context(), nil) {
				if err != nil || tool.OutputSchema == nil || tool.Annotations == nil {
					t.Fatalf("%+v, %v", tool, err)
				}
				names++
			}
			if names < 9 {
				t.Errorf("%d tools", names)
			}
			var d struct {
				Cause string `json:"primary_cause"`
			}
			if call(t, s, &mcp.CallToolParams{Name: "check_failed_run", Arguments: target}, &d); d.Cause != "oom" {
				t.Errorf("the cause is %q", d.Cause)
			}
			for _, name := range []string{"fetch_target", "tail_log", "extract_metrics", "classify_failure", "plan_recovery"} {
				var any map[string]any
				call(t, s, &mcp.CallToolParams{Name: name, Arguments: target}, &any)
			}
			bad, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "tail_log", Arguments: map[string]any{"taget": "x"}})
			if err != nil || !bad.IsError {
				t.Errorf("a wrong argument: %+v, %v", bad, err)
			}
			for r, err := range s.Resources(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				if got, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: r.URI}); err != nil || len(got.Contents) != 1 {
					t.Errorf("%s: %v", r.URI, err)
				}
			}
			for p, err := range s.Prompts(t.Context(), nil) {
				if err != nil {
					t.Fatal(err)
				}
				if got, err := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name, Arguments: map[string]string{"target": "x.log"}}); err != nil || len(got.Messages) == 0 {
					t.Errorf("%s: %v", p.Name, err)
				}
			}
			if _, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "run://nothing"}); err == nil {
				t.Error("a resource that is not there is read")
			}
		})
	}
}

// TestAWatchOnEveryTransport: progress comes, a call that is cancelled ends, and
// the one beside it goes on to its news.
func TestAWatchOnEveryTransport(t *testing.T) {
	tm := program(t, "TRAINMEDIC")
	at := listening(t, tm, "serve", "--http", "127.0.0.1:0", "--sse", "127.0.0.1:0")
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			progress := make(chan struct{}, 100)
			s := connect(t, way, at, []string{tm, "serve"}, &mcp.ClientOptions{
				ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { progress <- struct{}{} },
			})
			log := filepath.Join(t.TempDir(), "run.log")
			more := func(step int, loss string) {
				f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
				if err != nil {
					t.Error(err)
					return
				}
				defer f.Close()
				fmt.Fprintf(f, "step %d/1000 loss=%s lr=1e-4\n", step, loss)
			}
			for i := range 50 {
				more(i+1, "2.5")
			}
			var first, news struct {
				ID     string            `json:"monitor_id"`
				Cursor string            `json:"cursor"`
				Events []json.RawMessage `json:"events"`
			}
			call(t, s, &mcp.CallToolParams{Name: "monitor_run", Arguments: map[string]any{"target": log, "interval": 1, "no_backoff": true}}, &first)
			wait := map[string]any{"monitor_id": first.ID, "cursor": first.Cursor, "wait_seconds": 40}

			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() {
				_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "monitor_run", Arguments: wait})
				over <- err
			}()
			p := &mcp.CallToolParams{Name: "monitor_run", Arguments: wait}
			p.SetProgressToken("p1")
			done := make(chan struct{})
			go func() {
				defer close(done)
				call(t, s, p, &news)
			}()
			cancel()
			if err := <-over; err == nil {
				t.Error("a call that was cancelled has an answer")
			}
			step, second := 51, time.NewTicker(500*time.Millisecond)
			defer second.Stop()
			for waiting := true; waiting; step++ {
				select {
				case <-progress:
					waiting = false
				case <-done:
					t.Fatalf("no progress came before the answer: %+v", news)
				case <-second.C:
					more(step, "2.5")
				}
			}
			for i := range 5 {
				more(step+i, "nan")
			}
			<-done
			if len(news.Events) == 0 || !strings.Contains(string(news.Events[0]), "nan-inf") {
				t.Errorf("%+v", news)
			}
		})
	}
}

// TestAskingTheUser: this client speaks the newer era, in which a call ends with
// its question and is made again with the answer, on every transport.
func TestAskingTheUser(t *testing.T) {
	fixtures := program(t, "FIXTURES")
	at := listening(t, fixtures)
	for _, way := range ways {
		for _, action := range []string{"accept", "decline", "cancel"} {
			t.Run(way+" "+action, func(t *testing.T) {
				var asked atomic.Int32
				s := connect(t, way, at, []string{fixtures, "stdio"}, &mcp.ClientOptions{
					ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						asked.Add(1)
						r := &mcp.ElicitResult{Action: action}
						if action == "accept" {
							r.Content = map[string]any{"name": "ada"}
						}
						return r, nil
					},
				})
				r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "test_input_required_result_elicitation", Arguments: map[string]any{}})
				if action == "accept" && err != nil {
					t.Fatal(err)
				}
				if action == "accept" {
					if text, ok := r.Content[0].(*mcp.TextContent); !ok || text.Text != "Hello, ada!" || asked.Load() != 1 {
						t.Errorf("%+v, asked %d times", r, asked.Load())
					}
				} else if err == nil || asked.Load() < 2 { // the tool asks again until the client has enough of it
					t.Errorf("%+v, %v, asked %d times", r, err, asked.Load())
				}
			})
		}
	}
}

func TestWithoutTheTokenNobodyComesIn(t *testing.T) {
	tm := program(t, "TRAINMEDIC")
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("tm_ATESTTOKENATESTTOKEN"), 0o600); err != nil {
		t.Fatal(err)
	}
	at := listening(t, tm, "serve", "--http", "127.0.0.1:0", "--sse", "127.0.0.1:0", "--token-file", token)
	client := mcp.NewClient(&mcp.Implementation{Name: "go-sdk-test", Version: "1"}, nil)
	if _, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: at["http"]}, nil); err == nil {
		t.Error("it connects without a token")
	}
	withToken := &http.Client{Transport: bearer("tm_ATESTTOKENATESTTOKEN")}
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: at["http"], HTTPClient: withToken}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
