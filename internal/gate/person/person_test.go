package person

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
)

// world is an effector that can do nothing.
type world struct{}

func (world) Resolve(_ context.Context, p gate.Proposal) (gate.Resolved, error) {
	return gate.Resolved{Target: gate.Target{PID: 12, Lineage: p.Target}, Does: []string{"end process 12:", "  python <script>alert(1)</script>"}}, nil
}

func (world) Do(context.Context, gate.Permit) (gate.Outcome, error) { return gate.Outcome{}, nil }

func waiting(t *testing.T, p gate.Policy) (*gate.Gate, *gate.Decider, gate.Record) {
	t.Helper()
	p.On = true
	g, d, err := gate.Open(t.TempDir(), p, world{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	r, _, err := g.Propose(t.Context(), gate.Proposal{Principal: "agent", Target: "pid:12", Action: gate.Terminate})
	if err != nil {
		t.Fatal(err)
	}
	return g, d, r
}

func state(t *testing.T, g *gate.Gate, id string) gate.State {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := g.Await(ctx, "agent", id)
	if err != nil {
		t.Fatal(err)
	}
	return r.State
}

// listen serves a socket and gives the folder in which a client finds it.
func listen(t *testing.T, s *Socket) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("who connects is known on Linux only")
	}
	dir := t.TempDir()
	l, err := s.Listen(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestADecisionOnTheSocket(t *testing.T) {
	g, d, r := waiting(t, gate.Policy{})
	dir := listen(t, &Socket{Decider: d})
	plans, at, err := All(t.Context(), dir)
	if err != nil || len(plans) != 1 || plans[0].ID != r.ID {
		t.Fatalf("got %+v, %v", plans, err)
	}
	got, err := Decide(t.Context(), at[r.ID], gate.Decision{ID: r.ID, Digest: r.Digest, Yes: true, By: "somebody else"})
	if err != nil || got.State != gate.Approved || !strings.Contains(got.Decided, "on the socket") || strings.Contains(got.Decided, "somebody else") {
		t.Errorf("got %+v, %v", got, err)
	}
	if s := state(t, g, r.ID); s != gate.Approved {
		t.Error(s)
	}
}

func TestTheSocketRefuses(t *testing.T) {
	t.Run("another user", func(t *testing.T) {
		for name, tc := range map[string]struct {
			approvers []int
			uid       int
			ok        bool
		}{
			"a stranger": {nil, os.Getuid() + 1, false}, "root, not listed": {[]int{4711}, 0, false},
			"the server's own user, where others are named": {[]int{4711}, os.Getuid(), false}, "one who is named": {[]int{4711}, 4711, true},
		} {
			g, d, r := waiting(t, gate.Policy{Approvers: tc.approvers})
			dir := listen(t, &Socket{Decider: d, peer: func(net.Conn) (Peer, error) { return Peer{UID: tc.uid}, nil }})
			_, err := Decide(t.Context(), Servers(dir)[0], gate.Decision{ID: r.ID, Digest: r.Digest, Yes: true})
			if _, listed := Plans(t.Context(), Servers(dir)[0]); (err == nil) != tc.ok || (listed == nil) != tc.ok || (state(t, g, r.ID) == gate.Approved) != tc.ok {
				t.Errorf("%s: %v, %v", name, err, listed)
			}
		}
	})
	t.Run("one whom the kernel does not name", func(t *testing.T) {
		g, d, r := waiting(t, gate.Policy{})
		dir := listen(t, &Socket{Decider: d, peer: func(net.Conn) (Peer, error) { return Peer{}, errors.New("no") }})
		if _, err := Decide(t.Context(), Servers(dir)[0], gate.Decision{ID: r.ID, Digest: r.Digest, Yes: true}); err == nil || state(t, g, r.ID) != gate.Pending {
			t.Error(err)
		}
	})
	t.Run("what the agent's host started", func(t *testing.T) {
		g, d, r := waiting(t, gate.Policy{})
		dir := listen(t, &Socket{Decider: d, Host: os.Getpid()})
		if _, err := Decide(t.Context(), Servers(dir)[0], gate.Decision{ID: r.ID, Digest: r.Digest, Yes: true}); err == nil || !strings.Contains(err.Error(), "runs the agent") || state(t, g, r.ID) != gate.Pending {
			t.Error(err)
		}
		if _, err := Decide(t.Context(), Servers(dir)[0], gate.Decision{ID: r.ID, Digest: r.Digest}); err != nil {
			t.Errorf("anybody may deny: %v", err)
		}
	})
	t.Run("a forged decision", func(t *testing.T) {
		g, d, r := waiting(t, gate.Policy{})
		dir := listen(t, &Socket{Decider: d})
		for _, w := range []gate.Decision{{ID: r.ID, Yes: true}, {ID: r.ID, Digest: strings.Repeat("f", 64), Yes: true}, {ID: "nosuchid", Digest: r.Digest, Yes: true}} {
			if _, err := Decide(t.Context(), Servers(dir)[0], w); err == nil || state(t, g, r.ID) != gate.Pending {
				t.Errorf("%+v: %v", w, err)
			}
		}
	})
}

// TestARealOtherUser connects as nobody: only root can try that.
func TestARealOtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	py, err := exec.LookPath("/usr/bin/python3")
	if err != nil {
		t.Skip("no /usr/bin/python3")
	}
	g, d, r := waiting(t, gate.Policy{})
	dir, err := os.MkdirTemp("", "tm")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &Socket{Decider: d}
	l, err := s.Listen("", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go s.Serve(ctx, l)
	const ask = `
import os, socket, sys
os.setgid(65534); os.setuid(65534)
c = socket.socket(socket.AF_UNIX); c.connect(sys.argv[1])
body = sys.argv[2]
c.sendall(("POST /decide HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)).encode())
print(c.recv(65536).decode())`
	out, err := exec.Command(py, "-c", ask, filepath.Join(dir, "s"), `{"ID":"`+r.ID+`","Digest":"`+r.Digest+`","Yes":true}`).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "403") || !strings.Contains(string(out), "user 65534 may not decide") || state(t, g, r.ID) != gate.Pending {
		t.Errorf("%v: %s", err, out)
	}
}

const passphrase = "correct horse battery"

func page(t *testing.T) (*gate.Gate, gate.Record, *Page) {
	t.Helper()
	g, d, r := waiting(t, gate.Policy{})
	return g, r, pageOf(t, d)
}

func pageOf(t *testing.T, d *gate.Decider) *Page {
	t.Helper()
	dir := t.TempDir()
	if _, err := NewPage(d, dir, "127.0.0.1:80", nil); !errors.Is(err, ErrNoPassphrase) {
		t.Errorf("without a passphrase: %v", err)
	}
	if err := SetPassphrase(dir, "too short"); err == nil {
		t.Error("a short passphrase is taken")
	}
	if err := keep(dir, passphrase, 1000); err != nil { // few rounds: the race detector makes many of them slow
		t.Fatal(err)
	}
	if b, err := os.ReadFile(filepath.Join(dir, passphraseFile)); err != nil || strings.Contains(string(b), "horse") {
		t.Errorf("the passphrase is kept: %s, %v", b, err)
	}
	p, err := NewPage(d, dir, "127.0.0.1:4000", []string{"box.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// post sends a form as a browser on the page does, changed by edit.
func post(p http.Handler, form url.Values, edit func(*http.Request)) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:4000/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://127.0.0.1:4000")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if edit != nil {
		edit(r)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	b, _ := io.ReadAll(w.Result().Body)
	return w.Code, string(b)
}

var keyIn = regexp.MustCompile(`name="key" value="(\w+)"`)

func key(t *testing.T, p http.Handler) string {
	t.Helper()
	code, body := post(p, url.Values{"passphrase": {passphrase}}, nil)
	m := keyIn.FindStringSubmatch(body)
	if code != http.StatusOK || m == nil {
		t.Fatalf("%d %s", code, body)
	}
	return m[1]
}

func TestADecisionOnThePage(t *testing.T) {
	g, r, p := page(t)
	code, body := post(p, url.Values{"passphrase": {passphrase}}, nil)
	if code != http.StatusOK || !strings.Contains(body, "Approve "+r.Short()) || strings.Contains(body, "<script>") || !strings.Contains(body, "&lt;script&gt;alert(1)") {
		t.Fatalf("%d %s", code, body)
	}
	form := url.Values{"key": {keyIn.FindStringSubmatch(body)[1]}, "id": {r.ID}, "digest": {r.Digest}, "decision": {"approve"}}
	if code, body := post(p, form, nil); code != http.StatusOK || !strings.Contains(body, "Approved "+r.ID) || !strings.Contains(body, "Nothing waits") {
		t.Errorf("%d %s", code, body)
	}
	if s := state(t, g, r.ID); s != gate.Approved {
		t.Error(s)
	}
	if code, _ := post(p, form, nil); code != http.StatusConflict {
		t.Errorf("the same form again: %d", code)
	}
}

func TestThePageRefuses(t *testing.T) {
	g, r, p := page(t)
	k := key(t, p)
	good := func(change func(url.Values)) url.Values {
		f := url.Values{"key": {k}, "id": {r.ID}, "digest": {r.Digest}, "decision": {"approve"}}
		if change != nil {
			change(f)
		}
		return f
	}
	for _, tc := range []struct {
		name string
		form url.Values
		edit func(*http.Request)
		want int
	}{
		{"a wrong passphrase", url.Values{"passphrase": {"correct horse"}}, nil, 403},
		{"no passphrase", url.Values{"id": {r.ID}, "digest": {r.Digest}, "decision": {"approve"}}, nil, 403},
		{"a made-up key", good(func(f url.Values) { f.Set("key", "AAAA") }), nil, 403},
		{"another site", good(nil), func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Origin", "https://evil.example")
		}, 403},
		{"another port of this machine", good(nil), func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "same-site")
			r.Header.Set("Origin", "http://127.0.0.1:9999")
		}, 403},
		{"another site, an old browser", good(nil), func(r *http.Request) {
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set("Origin", "https://evil.example")
		}, 403},
		{"no origin at all", good(nil), func(r *http.Request) { r.Header.Del("Sec-Fetch-Site"); r.Header.Set("Origin", "null") }, 403},
		{"a foreign host", good(nil), func(r *http.Request) { r.Host = "evil.example" }, 403},
		{"another port's host", good(nil), func(r *http.Request) { r.Host = "127.0.0.1:4001" }, 403},
		{"a foreign digest", good(func(f url.Values) { f.Set("digest", strings.Repeat("0", 64)) }), nil, 409},
		{"a foreign plan", good(func(f url.Values) { f.Set("id", "nosuchid") }), nil, 409},
		{"no decision", good(func(f url.Values) { f.Set("decision", "perhaps") }), nil, 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if code, body := post(p, tc.form, tc.edit); code != tc.want {
				t.Errorf("got %d, want %d: %s", code, tc.want, body)
			}
			if s := state(t, g, r.ID); s != gate.Pending {
				t.Errorf("it is %s", s)
			}
		})
	}
	get := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:4000/?"+good(nil).Encode(), nil)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, get)
	if state(t, g, r.ID) != gate.Pending || strings.Contains(w.Body.String(), r.ID) || len(w.Result().Cookies()) > 0 {
		t.Errorf("a GET: %s", w.Body)
	}
	for _, h := range []string{"frame-ancestors 'none'", "default-src 'none'"} {
		if !strings.Contains(w.Header().Get("Content-Security-Policy"), h) {
			t.Errorf("the policy of the page lacks %s", h)
		}
	}
	if code, _ := post(p, good(nil), func(r *http.Request) { r.Host = "box.example.org"; r.Header.Set("Origin", "https://box.example.org") }); code != http.StatusOK || state(t, g, r.ID) != gate.Approved {
		t.Errorf("behind a tunnel with a name: %d", code)
	}
}

func TestGuessingIsHeldBack(t *testing.T) {
	_, d, _ := waiting(t, gate.Policy{})
	p := pageOf(t, d)
	synctest.Test(t, func(t *testing.T) {
		for i := range maxWrong {
			if err := p.lock.try("guess"); (i == maxWrong-1) != errors.Is(err, errLocked) || err == nil {
				t.Errorf("guess %d: %v", i+1, err)
			}
		}
		if err := p.lock.try(passphrase); !errors.Is(err, errLocked) {
			t.Errorf("the right one while it is shut: %v", err)
		}
		<-time.After(firstLock)
		for range maxWrong {
			p.lock.try("guess")
		}
		<-time.After(firstLock)
		if err := p.lock.try(passphrase); !errors.Is(err, errLocked) {
			t.Errorf("the second time it is shut for longer: %v", err)
		}
		<-time.After(firstLock)
		if err := p.lock.try(passphrase); err != nil {
			t.Error(err)
		}
	})
}

func TestAPageThatWasOpenTooLong(t *testing.T) {
	_, d, _ := waiting(t, gate.Policy{})
	p := pageOf(t, d)
	synctest.Test(t, func(t *testing.T) {
		k := p.open()
		if !p.isOpen(k) || p.isOpen("") || p.isOpen(k[1:]) {
			t.Error("a page that was just opened")
		}
		<-time.After(openFor)
		if p.isOpen(k) {
			t.Error("it is open for ever")
		}
	})
}

func TestThePageStaysOnThisMachine(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", "192.0.2.1:0", ":0", "[::]:0", "example.org:0", "127.0.0.1"} {
		if l, err := ListenLoopback(addr); err == nil {
			l.Close()
			t.Errorf("it listens on %s", addr)
		}
	}
	l, err := ListenLoopback("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
}
