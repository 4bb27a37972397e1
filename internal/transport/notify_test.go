package transport_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/transport"
)

// told wants progress, a line of log and the answer, in this order.
func told(t *testing.T, way, all string) {
	t.Helper()
	progress, log, answer := strings.Index(all, "notifications/progress"), strings.Index(all, `"said"`), strings.Index(all, `"told"`)
	if progress < 0 || log < progress || answer < log || strings.Contains(all, "not wanted") {
		t.Errorf("%s: %s", way, all)
	}
}

// TestWhatACallSaysComesBeforeItsAnswer: of a hundred calls each, none loses what
// it said last.
func TestWhatACallSaysComesBeforeItsAnswer(t *testing.T) {
	const calls = 100
	const meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"error"}}}`
	s := open(t, transport.Network{})
	me, l := session(t, s), older(t, s)
	for i := range calls {
		told(t, "streamable HTTP", mustAsk(t, http.MethodPost, s.http, call(i+2, "tell"), me).body)
		modern := strings.TrimSuffix(call(i+2, "tell"), "}}") + meta
		told(t, "the newer era", mustAsk(t, http.MethodPost, s.http, modern,
			header("Mcp-Protocol-Version", "2026-07-28"), header("Mcp-Method", "tools/call"), header("Mcp-Name", "tell")).body)
		mustAsk(t, http.MethodPost, l.post, call(i+2, "tell"))
		told(t, "SSE", fmt.Sprint(l.next(t), l.next(t), l.next(t)))
	}

	in, toIn := io.Pipe()
	fromOut, out := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- newCalls().way.Stdio(t.Context(), in, out, io.Discard); out.Close() }()
	lines := bufio.NewScanner(fromOut)
	io.WriteString(toIn, hello+"\n")
	lines.Scan()
	for i := range calls {
		io.WriteString(toIn, call(i+2, "tell")+"\n")
		all := ""
		for range 3 {
			lines.Scan()
			all += lines.Text()
		}
		told(t, "standard output", all)
	}
	toIn.Close()
	if err := soon(t, done, "the end"); err != nil {
		t.Error(err)
	}

	listen(t, http.MethodGet, s.http, "", me) // what a call says does not go out there
	for i := range calls {
		told(t, "beside a stream", mustAsk(t, http.MethodPost, s.http, call(i+1000, "tell"), me).body)
	}
}
