package transport_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/transport"
)

// TestTheEndComesWithAnAnswer: calls that wait answer at once when the server has
// to end, and streams on which nobody waits do not keep it.
func TestTheEndComesWithAnAnswer(t *testing.T) {
	s := open(t, transport.Network{})
	me, l := session(t, s), older(t, s)
	listen(t, http.MethodGet, s.http, "", me)
	listen(t, http.MethodGet, s.sse, "")
	for range 10 { // clients open connections ahead of their requests
		c, err := net.Dial("tcp", strings.Split(s.http, "/")[2])
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	over := make(chan reply, 1)
	go func() {
		a, _ := ask(t.Context(), http.MethodPost, s.http, call(2, "wait"), me)
		over <- a
	}()
	soon(t, s.began, "a call")
	mustAsk(t, http.MethodPost, l.post, call(2, "wait"))
	soon(t, s.began, "a call on a stream")
	began := time.Now()
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("the end took %v", took)
	}
	if a := <-over; text(a.body) != "cursor 7" {
		t.Errorf("%+v", a)
	}
	if e := l.next(t); text(e) != "cursor 7" {
		t.Error(e)
	}
	if !s.way.Ending() {
		t.Error("the service does not know that it ends")
	}
}

func TestOnStandardInputTheEndComesWithAnAnswer(t *testing.T) {
	c := newCalls()
	in, toIn := io.Pipe()
	defer toIn.Close()
	var out bytes.Buffer
	ctx, end := context.WithCancel(t.Context())
	defer end()
	done := make(chan error, 1)
	go func() { done <- c.way.Stdio(ctx, in, &out, io.Discard) }()
	io.WriteString(toIn, hello+"\n"+call(2, "wait")+"\n")
	soon(t, c.began, "a call")
	began := time.Now()
	end()
	if err := soon(t, done, "the end"); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*time.Second || !strings.Contains(out.String(), "cursor 7") {
		t.Errorf("after %v: %s", took, out.String())
	}
}

// TestWhatIsNoMessageIsSurvived: each line is answered or passed over, and the
// next call is served.
func TestWhatIsNoMessageIsSurvived(t *testing.T) {
	deep := strings.Repeat("[", 20_000)
	for _, line := range []string{"", "{", "null", "[]", `"x"`, "\xff\xfe\x00", deep, `{"jsonrpc":"2.0","id":{},"method":7}`, `{"jsonrpc":"1.0","id":1,"method":"ping"}`, `{"id":9}`} {
		c := newCalls()
		var out bytes.Buffer
		if err := c.way.Stdio(t.Context(), strings.NewReader(line+"\n"+call(5, "echo")+"\n"), &out, io.Discard); err != nil {
			t.Errorf("%.40q: %v", line, err)
		}
		if !strings.Contains(out.String(), "here") {
			t.Errorf("after %.40q no call is served: %s", line, out.String())
		}
	}
	s := open(t, transport.Network{})
	me := session(t, s)
	for _, body := range []string{"", "{", "null", "[]", `"x"`, "\xff\xfe\x00", deep, `{"jsonrpc":"2.0","id":{},"method":7}`} {
		if a := mustAsk(t, http.MethodPost, s.http, body, me); a.status >= 500 {
			t.Errorf("%.40q: %+v", body, a)
		}
	}
	if a := mustAsk(t, http.MethodPost, s.http, call(5, "echo"), me); text(a.body) != "here" {
		t.Errorf("%+v", a)
	}
	if said := s.said.String(); strings.Contains(said, "tms_") {
		t.Errorf("the name of a session is told: %s", said)
	}
}

func TestATokenIsMadeWhereOthersCanReachTheServer(t *testing.T) {
	s := open(t, transport.Network{HTTP: "0.0.0.0:0", SSE: "127.0.0.1:0"})
	said := s.said.String()
	if strings.Count(said, "tm_") != 1 || !strings.Contains(said, "TLS") {
		t.Errorf("want the token once and a word on TLS: %s", said)
	}
	for _, at := range []string{strings.Replace(s.http, "[::]", "127.0.0.1", 1), s.sse} {
		if a := mustAsk(t, http.MethodPost, at, hello); a.status != 401 {
			t.Errorf("%s without it: %+v", at, a)
		}
	}
	_, token, _ := strings.Cut(said, "tm_")
	token, _, _ = strings.Cut(token, "\n")
	if a := mustAsk(t, http.MethodPost, strings.Replace(s.http, "0.0.0.0", "127.0.0.1", 1), hello, header("Authorization", "Bearer tm_"+token)); a.status != 200 {
		t.Errorf("with it: %+v", a)
	}
}

func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	s := open(t, transport.Network{})
	taken := strings.TrimSuffix(strings.TrimPrefix(s.http, "http://"), "/mcp")
	_, err := newCalls().way.Listen(t.Context(), transport.Network{HTTP: "127.0.0.1:0", SSE: taken, Say: func(string) {}})
	if err == nil || !strings.Contains(err.Error(), taken) {
		t.Errorf("%v", err)
	}
}
