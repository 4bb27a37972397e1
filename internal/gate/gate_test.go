package gate

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// world is an effector whose target a test can change; it counts what was done.
type world struct {
	mu     sync.Mutex
	start  string
	err    error
	did    int
	during func()
}

func (w *world) Resolve(_ context.Context, p Proposal) (Resolved, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return Resolved{}, w.err
	}
	return Resolved{Target: Target{PID: 12, Start: w.start, Lineage: p.Target}, Does: []string{"end process 12", p.Run}, Changed: p.Run}, nil
}

func (w *world) Do(context.Context, Permit) (Outcome, error) {
	w.mu.Lock()
	w.did++
	during := w.during
	w.mu.Unlock()
	if during != nil {
		during()
	}
	return Outcome{Text: "it ended"}, nil
}

func (w *world) set(start string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.start = start
}

var asking = Policy{On: true}

func open(t *testing.T, dir string, p Policy, w *world) (*Gate, *Decider) {
	t.Helper()
	g, d, err := Open(dir, p, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g, d
}

var kill = Proposal{Principal: "agent", Target: "pid:12", Action: Terminate, Args: Args{Command: []string{"a"}}}

func propose(t *testing.T, g *Gate, p Proposal) Record {
	t.Helper()
	r, ruling, err := g.Propose(t.Context(), p)
	if err != nil || ruling != Ask || r.State != Pending {
		t.Fatalf("got %s %v %+v, want a plan that asks", ruling, err, r)
	}
	return r
}

func yes(r Record) Decision { return Decision{ID: r.ID, Digest: r.Digest, Yes: true, By: "a person"} }

// refuses wants that a plan is not carried out, and why.
func refuses(t *testing.T, g *Gate, w *world, principal, id string, again *Proposal, kind string) {
	t.Helper()
	before := w.did
	_, _, err := g.Execute(t.Context(), principal, id, again)
	if why, ok := errors.AsType[Refusal](err); !ok || why.Kind != kind {
		t.Errorf("got %v, want a refusal of kind %s", err, kind)
	}
	if w.did != before {
		t.Error("it was done all the same")
	}
}

func TestApprovedOnceDoneOnce(t *testing.T) {
	w := &world{}
	dir := t.TempDir()
	g, d := open(t, dir, asking, w)
	r := propose(t, g, kill)
	refuses(t, g, w, "agent", r.ID, nil, "pending")
	if again := propose(t, g, kill); again.ID != r.ID {
		t.Error("the same proposal has to be the same plan")
	}
	if _, err := d.Decide(yes(r)); err != nil {
		t.Fatal(err)
	}
	got, out, err := g.Execute(t.Context(), "agent", r.ID, &kill)
	if err != nil || got.State != Done || got.Outcome != "it ended" || out.Text != "it ended" || w.did != 1 {
		t.Errorf("got %+v %v, done %d times", got, err, w.did)
	}
	refuses(t, g, w, "agent", r.ID, nil, "used")
	if _, err := d.Decide(yes(r)); err == nil {
		t.Error("a plan that was used can be approved again")
	}
	if err := g.Settle(r.ID, true, "confirmed"); err != nil {
		t.Error(err)
	}
	if n, _, err := Verify(dir); n != 5 || err != nil {
		t.Errorf("the audit has %d entries, want proposed, approved, executing, done, validated; %v", n, err)
	}
}

func TestWhatIsRefused(t *testing.T) {
	w := &world{start: "100"}
	approved := func(t *testing.T) (*Gate, *Decider, Record) {
		w.set("100")
		g, d := open(t, t.TempDir(), asking, w)
		r := propose(t, g, kill)
		if _, err := d.Decide(yes(r)); err != nil {
			t.Fatal(err)
		}
		return g, d, r
	}
	t.Run("a decision on something else than what was shown", func(t *testing.T) {
		g, d := open(t, t.TempDir(), asking, w)
		r := propose(t, g, kill)
		forged := yes(r)
		forged.Digest = strings.Repeat("0", len(r.Digest))
		if _, err := d.Decide(forged); err == nil {
			t.Error("a forged digest decides")
		}
		forged.Digest = r.Short()
		if _, err := d.Decide(forged); err == nil {
			t.Error("a part of the digest decides")
		}
		refuses(t, g, w, "agent", r.ID, nil, "pending")
	})
	t.Run("a decision written into the file", func(t *testing.T) {
		dir := t.TempDir()
		g, _ := open(t, dir, asking, w)
		r := propose(t, g, kill)
		path := filepath.Join(dir, "plans", r.ID+".json")
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, bytes.Replace(b, []byte(`"pending"`), []byte(`"approved"`), 1), 0o600); err != nil {
			t.Fatal(err)
		}
		refuses(t, g, w, "agent", r.ID, nil, "pending")
	})
	t.Run("changed arguments", func(t *testing.T) {
		g, _, r := approved(t)
		for _, change := range []func(*Proposal){
			func(p *Proposal) { p.Args.Command = []string{"b"} }, func(p *Proposal) { p.Target = "pid:13" },
			func(p *Proposal) { p.Action = RestartWith }, func(p *Proposal) { p.Args.Env = map[string]string{"A": "b"} }, func(p *Proposal) { p.Run = "w1" },
		} {
			p := kill
			change(&p)
			refuses(t, g, w, "agent", r.ID, &p, "plan_changed")
		}
	})
	t.Run("a PID that was used again", func(t *testing.T) {
		g, _, r := approved(t)
		w.set("200")
		refuses(t, g, w, "agent", r.ID, nil, "target_changed")
		w.set("100")
		refuses(t, g, w, "agent", r.ID, nil, "expired") // the approval is gone, not only late
	})
	t.Run("a target that is gone", func(t *testing.T) {
		g, _, r := approved(t)
		w.err = Refusal{"gone", "it has ended"}
		defer func() { w.err = nil }()
		refuses(t, g, w, "agent", r.ID, nil, "target_changed")
	})
	t.Run("another client's plan", func(t *testing.T) {
		g, _, r := approved(t)
		refuses(t, g, w, "another agent", r.ID, nil, "not_found")
		if _, err := g.Await(t.Context(), "another agent", r.ID); err == nil {
			t.Error("another client learns of it")
		}
		if err := g.InDialog("another agent", r.ID, true, r.Short()); err == nil {
			t.Error("another client decides")
		}
	})
	t.Run("another server's plan", func(t *testing.T) {
		dir := t.TempDir()
		a, _ := open(t, dir, asking, w)
		b, bd := open(t, dir, asking, w)
		r := propose(t, a, kill)
		if _, err := bd.Decide(yes(r)); err == nil {
			t.Error("another server takes the decision")
		}
		refuses(t, b, w, "agent", r.ID, nil, "not_found")
		third, _ := open(t, dir, asking, w) // the plan of a server that lives is not taken for one that was left behind
		if left := third.Recovered(); len(left) > 0 {
			t.Errorf("%+v", left)
		}
	})
	t.Run("what was denied, under any name", func(t *testing.T) {
		dir := t.TempDir()
		g, d := open(t, dir, asking, w)
		r := propose(t, g, kill)
		no := yes(r)
		no.Yes = false
		if _, err := d.Decide(no); err != nil {
			t.Fatal(err)
		}
		refuses(t, g, w, "agent", r.ID, nil, "denied")
		second, _ := open(t, dir, asking, w) // also for the next server and the next client
		again := kill
		again.Principal = "another agent"
		if _, ruling, err := second.Propose(t.Context(), again); ruling != Refuse || err == nil {
			t.Errorf("got %s, %v", ruling, err)
		}
	})
	t.Run("a flood of questions", func(t *testing.T) {
		g, _ := open(t, t.TempDir(), asking, w)
		for i := range maxPending {
			p := kill
			p.Args.Command = []string{strings.Repeat("x", i+1)}
			propose(t, g, p)
		}
		if _, _, err := g.Propose(t.Context(), kill); err == nil || !strings.Contains(err.Error(), "wait for a person already") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("a fourth try", func(t *testing.T) {
		g, _ := open(t, t.TempDir(), asking, w)
		p := Proposal{Principal: "agent", Target: "pid:12", Action: Restart}
		for range MaxTries {
			r, ruling, err := g.Propose(t.Context(), p)
			if err != nil || ruling != Allow {
				t.Fatal(ruling, err)
			}
			if _, _, err := g.Execute(t.Context(), "agent", r.ID, nil); err != nil {
				t.Fatal(err)
			}
		}
		if _, ruling, err := g.Propose(t.Context(), p); ruling != Refuse || err == nil {
			t.Errorf("got %s, %v", ruling, err)
		}
	})
	t.Run("a zero permit", func(t *testing.T) {
		if a := (Permit{}).Action(); a != "" {
			t.Errorf("it permits %s", a)
		}
	})
}

func TestApprovalsExpire(t *testing.T) {
	w, dir := &world{}, t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		g, d, err := Open(dir, asking, w)
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		r := propose(t, g, kill)
		done := make(chan State)
		go func() {
			got, _ := g.Await(context.Background(), "agent", r.ID)
			done <- got.State
		}()
		if s := <-done; s != Expired { // nobody decides: the clock of the bubble runs to the end
			t.Errorf("without a decision it is %s", s)
		}
		if _, err := d.Decide(yes(r)); err == nil {
			t.Error("a decision after the end counts")
		}
		refuses(t, g, w, "agent", r.ID, nil, "expired")
		r = propose(t, g, kill)
		if _, err := d.Decide(yes(r)); err != nil {
			t.Fatal(err)
		}
		<-time.After(TTL)
		refuses(t, g, w, "agent", r.ID, nil, "expired")
	})
}
