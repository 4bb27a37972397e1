package transport_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/transport"
)

func TestANameOfASessionIsGivenNotTaken(t *testing.T) {
	s := open(t, transport.Network{})
	const mine = "tms_ATTACKERATTACKERATTACKER"
	a := mustAsk(t, http.MethodPost, s.http, hello, named(mine))
	if got := a.header.Get("Mcp-Session-Id"); got == "" || got == mine {
		t.Errorf("the client's own name became %q", got)
	}
	for _, name := range []string{mine, "", "mcp-session-6ba7b810-9dad-11d1-80b4-00c04fd430c8"} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
			if a := mustAsk(t, method, s.http, call(2, "echo"), named(name)); a.status != http.StatusNotFound {
				t.Errorf("%s as %q: %+v", method, name, a)
			}
		}
	}
	me := session(t, s)
	if a := mustAsk(t, http.MethodPost, s.http, call(2, "echo"), me); text(a.body) != "here" {
		t.Errorf("%+v", a)
	}
	if a := mustAsk(t, http.MethodDelete, s.http, "", me); a.status != 200 {
		t.Errorf("a session does not end: %+v", a)
	}
	if a := mustAsk(t, http.MethodPost, s.http, call(3, "echo"), me); a.status != http.StatusNotFound {
		t.Errorf("it goes on after its end: %+v", a)
	}
}

// TestAStreamGivesItsNameAndTakesItAlong: on the older transport the name is good
// as long as the stream, and only there.
func TestAStreamGivesItsNameAndTakesItAlong(t *testing.T) {
	s := open(t, transport.Network{})
	l := older(t, s)
	_, name, _ := strings.Cut(l.post, "sessionId=")
	if a := mustAsk(t, http.MethodPost, s.http, call(2, "echo"), named(name)); a.status != http.StatusNotFound {
		t.Errorf("the name of a stream is good at the other transport: %+v", a)
	}
	me := session(t, s)
	var r http.Request
	r.Header = http.Header{}
	me(&r)
	if a := mustAsk(t, http.MethodPost, strings.Replace(l.post, name, r.Header.Get("Mcp-Session-Id"), 1), call(2, "echo")); a.status != http.StatusNotFound {
		t.Errorf("the other way round: %+v", a)
	}
	mustAsk(t, http.MethodPost, l.post, call(2, "hang"))
	soon(t, s.began, "a call")
	l.leave()
	if err := soon(t, s.ended, "a stream that is gone"); err == nil {
		t.Error("the call ended by itself")
	}
	for { // the stream's end takes a moment to be told
		a := mustAsk(t, http.MethodPost, l.post, call(3, "echo"))
		if a.status == http.StatusNotFound {
			return
		}
	}
}

// TestNobodyEndsAnothersCall: all clients number their calls alike.
func TestNobodyEndsAnothersCall(t *testing.T) {
	const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`
	s := open(t, transport.Network{})
	victim, other := session(t, s), session(t, s)
	over := make(chan reply, 1)
	go func() {
		a, _ := ask(t.Context(), http.MethodPost, s.http, call(7, "hang"), victim)
		over <- a
	}()
	soon(t, s.began, "a call")
	a, b := older(t, s), older(t, s)
	mustAsk(t, http.MethodPost, a.post, call(7, "hang"))
	soon(t, s.began, "a call on a stream")

	mustAsk(t, http.MethodPost, s.http, cancel, other)
	mustAsk(t, http.MethodPost, s.http, cancel, header("Mcp-Protocol-Version", "2026-07-28"), header("Mcp-Method", "notifications/cancelled"))
	mustAsk(t, http.MethodPost, s.http, cancel)
	mustAsk(t, http.MethodPost, b.post, cancel)
	mustAsk(t, http.MethodPost, b.post, call(8, "echo")) // what came before its answer was done
	b.next(t)
	mustAsk(t, http.MethodPost, s.http, call(8, "echo"), other)
	select {
	case err := <-s.ended:
		t.Errorf("a call was ended by a stranger: %v", err)
	default:
	}

	mustAsk(t, http.MethodPost, a.post, cancel)
	soon(t, s.ended, "cancelling one's own call on a stream")
	mustAsk(t, http.MethodPost, s.http, cancel, victim)
	soon(t, s.ended, "cancelling one's own call")
	soon(t, over, "the answer")
}

// TestNobodyAnswersForAnother: a question to the user of one client is answered
// by that client alone.
func TestNobodyAnswersForAnother(t *testing.T) {
	s := open(t, transport.Network{})
	asked, other := session(t, s), session(t, s)
	l := listen(t, http.MethodPost, s.http, call(2, "ask"), asked)
	if e := l.next(t); !strings.Contains(e, "notifications/progress") {
		t.Errorf("not what was told first: %s", e)
	}
	question := l.next(t)
	if !strings.Contains(question, "elicitation/create") {
		t.Fatalf("not a question: %s", question)
	}
	_, id, _ := strings.Cut(question, `"id":`)
	id, _, _ = strings.Cut(strings.ReplaceAll(id, "}", ","), ",")
	yes := `{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept","content":{"from":"NAME"}}}`
	mustAsk(t, http.MethodPost, s.http, strings.Replace(yes, "NAME", "a stranger", 1), other)
	mustAsk(t, http.MethodPost, s.http, strings.Replace(yes, "NAME", "nobody", 1))
	mustAsk(t, http.MethodPost, s.http, strings.Replace(yes, "NAME", "the right one", 1), asked)
	if a := l.next(t); !strings.Contains(text(a), "the right one") {
		t.Errorf("the answer is %s", a)
	}
}

func TestACallOverHTTPEndsWithItsConnection(t *testing.T) {
	s := open(t, transport.Network{})
	ctx, leave := context.WithCancel(t.Context())
	me := session(t, s)
	over := make(chan error, 1)
	go func() {
		_, err := ask(ctx, http.MethodPost, s.http, call(2, "hang"), me)
		over <- err
	}()
	soon(t, s.began, "a call")
	leave()
	if err := soon(t, s.ended, "a client that left"); err == nil {
		t.Error("the call ended by itself")
	}
	<-over
}

// TestOneClientMayNotHaveAllCalls: the 65th call of a client at once is refused,
// that of another is not.
func TestOneClientMayNotHaveAllCalls(t *testing.T) {
	s := open(t, transport.Network{})
	greedy, other := session(t, s), session(t, s)
	over := make(chan reply, 100)
	for i := range 64 {
		go func() {
			a, _ := ask(t.Context(), http.MethodPost, s.http, call(i+2, "wait"), greedy)
			over <- a
		}()
	}
	for range 64 {
		soon(t, s.began, "a call")
	}
	if a := mustAsk(t, http.MethodPost, s.http, call(99, "echo"), greedy); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("one call more: %+v", a)
	}
	if a := mustAsk(t, http.MethodPost, s.http, call(99, "echo"), other); text(a.body) != "here" {
		t.Errorf("another client: %+v", a)
	}

	l := older(t, s)
	for i := range 64 {
		mustAsk(t, http.MethodPost, l.post, call(i+2, "wait"))
		soon(t, s.began, "a call on a stream")
	}
	if a := mustAsk(t, http.MethodPost, l.post, call(99, "echo")); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") == "" {
		t.Errorf("one call more on a stream: %+v", a)
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	for range 64 {
		if a := <-over; text(a.body) != "cursor 7" {
			t.Fatalf("a call that waited got %+v", a)
		}
		if e := l.next(t); text(e) != "cursor 7" {
			t.Fatalf("a call that waited on a stream got %s", e)
		}
	}
}

// TestAClientMayNotAskWithoutEnd: two hundred calls at once are let in, then
// fifty a second.
func TestAClientMayNotAskWithoutEnd(t *testing.T) {
	s := open(t, transport.Network{})
	me := session(t, s)
	refused := 0
	for i := range 1000 {
		a := mustAsk(t, http.MethodPost, s.http, call(i+2, "echo"), me)
		if a.status == http.StatusTooManyRequests {
			refused++
		} else if text(a.body) != "here" {
			t.Fatalf("%+v", a)
		} else if refused > 0 {
			break
		}
	}
	if refused == 0 {
		t.Skip("this machine is too slow to ask so fast")
	}
	if a := mustAsk(t, http.MethodPost, s.http, call(2, "echo"), session(t, s)); text(a.body) != "here" {
		t.Errorf("another client: %+v", a)
	}
}
