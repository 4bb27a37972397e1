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

	"github.com/google/go-cmp/cmp"
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
	return Resolved{Target: Target{PID: 12, Start: w.start, Lineage: p.Target}, Does: []string{"end process 12"}}, nil
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

func TestRule(t *testing.T) {
	file := Policy{Actions: map[Action]Ruling{Restart: Ask, Terminate: Refuse, CancelSLURM: Allow}}
	for _, tc := range []struct {
		name   string
		action Action
		policy Policy
		grants Grants
		want   Ruling
		why    string
	}{
		{"nothing is said", Restart, Policy{}, Grants{}, Refuse, "read_only"},
		{"nothing is said, approved", Terminate, Policy{}, Grants{Approved: true}, Refuse, "read_only"},
		{"safe", Restart, asking, Grants{}, Allow, ""},
		{"safe, but the script changed", Restart, asking, Grants{Changed: "train.py changed"}, Ask, "changed"},
		{"needs approval", Terminate, asking, Grants{}, Ask, ""},
		{"approved", Terminate, asking, Grants{Approved: true}, Allow, ""},
		{"no fix", Restart, asking, Grants{NoFix: true, Approved: true}, Refuse, "no_fix"},
		{"tried three times", Restart, asking, Grants{Tries: 3, Approved: true}, Refuse, "tries"},
		{"denied", Terminate, asking, Grants{Denied: true, Approved: true}, Refuse, "denied"},
		{"dangerous", "delete_checkpoints", Policy{On: true, Actions: map[Action]Ruling{"delete_checkpoints": Allow}}, Grants{Approved: true}, Refuse, "no_such_action"},
		{"the file asks", Restart, file, Grants{}, Ask, ""},
		{"the file denies", Terminate, file, Grants{Approved: true}, Refuse, "policy"},
		{"the file allows", CancelSLURM, file, Grants{}, Allow, ""},
		{"the file is silent", Repoint, file, Grants{}, Refuse, "policy"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, why := Rule(tc.action, tc.policy, tc.grants)
			if got != tc.want || why.Kind != tc.why {
				t.Errorf("got %s, %q (%s); want %s, %q", got, why.Kind, why.Why, tc.want, tc.why)
			}
		})
	}
}

func TestAPolicyFileIsTheOperatorsWord(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	for text, want := range map[string]string{
		"actions: {restart: ask, terminate: deny}\napprovers: [1000]\n": "",
		"":                               "",
		"actions: {restart_with: allow}": "ask or deny",
		"actions: {restart: perhaps}":    "no ruling",
		"actions: {format_disk: allow}":  "no action",
		"action: {restart: allow}":       "not found",
		"actions: [":                     "yaml",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var p Policy
		if err := p.ReadPolicy(path); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if err := os.Chmod(path, 0o666); err != nil {
		t.Fatal(err)
	}
	var p Policy
	if err := p.ReadPolicy(path); !errors.Is(err, os.ErrPermission) {
		t.Errorf("a file that anybody may write: got %v", err)
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

func TestTheDialogDecidesLittle(t *testing.T) {
	w := &world{}
	ask := map[Action]Ruling{Restart: Ask, Terminate: Ask}
	restart := Proposal{Principal: "agent", Target: "pid:12", Action: Restart}
	for _, tc := range []struct {
		name     string
		policy   Policy
		p        Proposal
		accepted bool
		typed    func(Record) string
		want     State
	}{
		{"the code", Policy{Actions: ask, Elicit: true}, restart, true, func(r Record) string { return r.Short() }, Approved},
		{"no", Policy{Actions: ask, Elicit: true}, restart, false, func(Record) string { return "" }, Denied},
		{"nothing typed", Policy{Actions: ask, Elicit: true}, restart, true, func(Record) string { return "" }, Pending},
		{"the whole digest", Policy{Actions: ask, Elicit: true}, restart, true, func(r Record) string { return r.Digest }, Pending},
		{"not allowed by the operator", Policy{Actions: ask}, restart, true, func(r Record) string { return r.Short() }, Pending},
		{"not a safe action", Policy{Actions: ask, Elicit: true}, kill, true, func(r Record) string { return r.Short() }, Pending},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g, _ := open(t, t.TempDir(), tc.policy, w)
			r := propose(t, g, tc.p)
			g.InDialog("agent", r.ID, tc.accepted, tc.typed(r))
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if got, err := g.Await(ctx, "agent", r.ID); err != nil || got.State != tc.want {
				t.Errorf("got %s, %v; want %s", got.State, err, tc.want)
			}
		})
	}
}

func TestTheAuditShowsWhatWasChanged(t *testing.T) {
	dir := t.TempDir()
	for range 4 {
		if err := note(dir, Entry{At: time.Unix(0, 0), Event: "done", Plan: "p"}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, auditFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, b := range map[string][]byte{
		"a word":          bytes.Replace(whole, []byte("done"), []byte("fail"), 1),
		"a line less":     bytes.Join([][]byte{lines[0], lines[2], lines[3]}, nil),
		"another order":   bytes.Join([][]byte{lines[0], lines[2], lines[1], lines[3]}, nil),
		"a line twice":    bytes.Join([][]byte{lines[0], lines[0], lines[1]}, nil),
		"no first line":   bytes.Join(lines[1:], nil),
		"something else":  append(bytes.Clone(whole), "hello\n"...),
		"an empty object": append(bytes.Clone(whole), "{}\n"...),
	} {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if n, _, err := Verify(dir); err == nil {
			t.Errorf("%s: %d entries are said to hold", name, n)
		}
	}
	if err := os.WriteFile(path, append(bytes.Clone(whole), `{"n":5,"ha`...), 0o600); err != nil { // a crash while it was written
		t.Fatal(err)
	}
	if err := note(dir, Entry{Event: "done"}); err != nil {
		t.Fatal(err)
	}
	if n, _, err := Verify(dir); n != 5 || err != nil {
		t.Errorf("after a torn line: %d entries, %v", n, err)
	}
}

func TestWhatAServerLeftBehindIsNotDone(t *testing.T) {
	w, dir := &world{}, t.TempDir()
	g, d, err := Open(dir, asking, w)
	if err != nil {
		t.Fatal(err)
	}
	a, b, c := kill, kill, kill
	b.Args.Command, c.Args.Command = []string{"b"}, []string{"c"}
	waits, approved, running := propose(t, g, a), propose(t, g, b), propose(t, g, c)
	for _, r := range []Record{approved, running} {
		if _, err := d.Decide(yes(r)); err != nil {
			t.Fatal(err)
		}
	}
	died := make(chan struct{})
	w.during = func() { close(died); select {} } // it dies in the middle
	go g.Execute(context.Background(), "agent", running.ID, nil)
	<-died
	w.during = nil
	if err := g.store.close(); err != nil { // what the kernel does for a process that is killed
		t.Fatal(err)
	}
	next, nd := open(t, dir, asking, w)
	got := map[string]State{}
	for _, r := range next.Recovered() {
		got[r.ID] = r.State
		if r.Outcome == "" {
			t.Errorf("%s: nothing is said of it", r.State)
		}
	}
	if diff := cmp.Diff(map[string]State{waits.ID: Void, approved.ID: Void, running.ID: Interrupted}, got); diff != "" {
		t.Error(diff)
	}
	for id, state := range got {
		refuses(t, next, w, "agent", id, nil, string(state))
		if _, err := nd.Decide(Decision{ID: id, Yes: true}); err == nil {
			t.Errorf("%s can be decided", state)
		}
	}
	if w.did != 1 {
		t.Errorf("it was done %d times", w.did)
	}
	third, _ := open(t, dir, asking, w)
	if n := len(third.Recovered()); n != 0 {
		t.Errorf("%d are told again", n)
	}
	if _, _, err := Verify(dir); err != nil {
		t.Error(err)
	}
}

func TestNothingIsDoneThatCannotBeWritten(t *testing.T) {
	if os.Getuid() == 0 {
		t.Log("root writes everywhere: the folder is taken away instead")
	}
	w, dir := &world{}, t.TempDir()
	g, d := open(t, dir, asking, w)
	r := propose(t, g, kill)
	if _, err := d.Decide(yes(r)); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(dir, "plans")); err != nil {
		t.Fatal(err)
	}
	refuses(t, g, w, "agent", r.ID, nil, "not_written")
}

func TestWhatAPersonSeesIsClean(t *testing.T) {
	got := clean([]string{"run \x1b[2Ja\u202eb\nc", "key " + "sk-" + strings.Repeat("a1B2", 12)})
	if diff := cmp.Diff(`run ab\nc`, got[0]); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(got[1], "a1B2a1B2") {
		t.Error(got[1])
	}
}

func FuzzPolicy(f *testing.F) {
	f.Add("actions: {restart: ask}\napprovers: [1]\n")
	f.Add("actions: {restart_with: allow}")
	f.Fuzz(func(t *testing.T, text string) {
		var p Policy
		if err := p.parse([]byte(text)); err != nil {
			return
		}
		for a := range p.Actions {
			if r, _ := Rule(a, p, Grants{}); r == Allow && (a == RestartWith || len(a) == 0) {
				t.Errorf("%q allows %s", text, a)
			}
		}
	})
}
