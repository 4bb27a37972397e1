package transport

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// TestASessionThatNobodyUsesIsForgotten: after an hour, by the door and by the
// library, so that clients that go without a word cost nothing.
func TestASessionThatNobodyUsesIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := 0
		hooks := &server.Hooks{}
		hooks.AddOnRegisterSession(func(context.Context, server.ClientSession) { kept++ })
		hooks.AddOnUnregisterSession(func(context.Context, server.ClientSession) { kept-- })
		m := server.NewMCPServer("test", "1", server.WithToolCapabilities(false), server.WithHooks(hooks))
		m.AddTool(mcp.NewTool("echo"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("here"), nil
		})
		at := &site{listener: nowhereNear{}, local: true, http: true}
		at.open(New(m), Network{Say: func(string) {}})
		post := func(session, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(body))
			r.Host = "localhost"
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Mcp-Session-Id", session)
			w := httptest.NewRecorder()
			at.server.Handler.ServeHTTP(w, r)
			return w
		}
		const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
		const echo = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}`
		idle, used := post("", hello).Header().Get("Mcp-Session-Id"), post("", hello).Header().Get("Mcp-Session-Id")
		for range 3 {
			time.Sleep(25 * time.Minute)
			if w := post(used, echo); !strings.Contains(w.Body.String(), "here") {
				t.Fatalf("a session that is used ends: %d %s", w.Code, w.Body)
			}
		}
		if w := post(idle, echo); w.Code != http.StatusNotFound {
			t.Errorf("one that is not goes on: %d %s", w.Code, w.Body)
		}
		before := kept
		if post("", hello); kept != before { // one comes, one goes
			t.Errorf("the library holds %d sessions, then %d", before, kept)
		}
	})
}

// TestAfterTheLastRequestThoseWhoWaitAreAskedToEnd: a client that closes its end
// has its answers at once, those of calls that wait for news too.
func TestAfterTheLastRequestThoseWhoWaitAreAskedToEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := newUnanswered()
		asked := []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}` + "\n")
		in := &asking{from: bytes.NewReader(asked), open: open, ctx: t.Context(), ended: func() { open.answered([]byte(`{"id":1,"result":{}}`)) }}
		began := time.Now()
		if b, err := io.ReadAll(in); err != nil || !bytes.Equal(b, asked) {
			t.Errorf("%q, %v", b, err)
		}
		if took := time.Since(began); took != 0 || open.len() != 0 {
			t.Errorf("after %v %d calls have no answer", took, open.len())
		}
	})
}

// nowhereNear is a listener with an address and nothing else.
type nowhereNear struct{ net.Listener }

func (nowhereNear) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
