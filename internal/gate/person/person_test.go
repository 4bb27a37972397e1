package person

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

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
