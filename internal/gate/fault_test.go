package gate

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trainmedic/trainmedic/internal/faulttest"
)

// TestAClockThatIsSetGrantsNothing: an approval lasts its ten minutes, however the
// machine's clock jumps.
func TestAClockThatIsSetGrantsNothing(t *testing.T) {
	for _, tc := range []struct {
		name string
		jump time.Duration // of the clock
		wait time.Duration
		want State
	}{
		{"back, in time", -5 * time.Hour, TTL - time.Second, Approved},
		{"back, too late", -5 * time.Hour, TTL, Expired},
		{"forward", 5 * time.Hour, 0, Expired}, // rather too early than too late
		{"a little back", -3 * time.Second, TTL, Expired},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{}
				g, d := open(t, t.TempDir(), asking, w)
				r := propose(t, g, kill)
				if _, err := d.Decide(yes(r)); err != nil {
					t.Fatal(err)
				}
				g.plans[r.ID].Expires = g.plans[r.ID].Expires.Add(-tc.jump) // what stands on the wall is now that much nearer or farther
				time.Sleep(tc.wait)
				if got := d.List()[0].State; got != tc.want {
					t.Errorf("it is %s, want %s", got, tc.want)
				}
				if tc.want == Expired {
					refuses(t, g, w, "agent", r.ID, nil, "expired")
				}
			})
		})
	}
}

// TestAWaitEndsWithThePlan: one that waits for a decision is told when the plan is
// over, also on a clock that was set back.
func TestAWaitEndsWithThePlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, _ := open(t, t.TempDir(), asking, &world{})
		r := propose(t, g, kill)
		g.plans[r.ID].Expires = g.plans[r.ID].Expires.Add(5 * time.Hour)
		before := time.Now()
		got, err := g.Await(t.Context(), "agent", r.ID)
		if took := time.Since(before); err != nil || got.State != Expired || took != TTL {
			t.Errorf("%v %s after %v", err, got.State, took)
		}
	})
}

// TestAFullDiskLetsNothingBeDone: what cannot be written first is not done; a no
// counts all the same, and the audit stays whole.
func TestAFullDiskLetsNothingBeDone(t *testing.T) {
	dir := faulttest.SmallDisk(t, 256<<10)
	w := &world{}
	g, d := open(t, dir, asking, w)
	approved, undecided := propose(t, g, kill), propose(t, g, Proposal{Principal: "agent", Target: "pid:13", Action: Terminate})
	denied := propose(t, g, Proposal{Principal: "agent", Target: "pid:14", Action: Terminate})
	if _, err := d.Decide(yes(approved)); err != nil {
		t.Fatal(err)
	}
	free := faulttest.Fill(t, dir)
	if _, err := d.Decide(yes(undecided)); err == nil {
		t.Error("a yes counts that is not written")
	}
	no := yes(denied)
	no.Yes = false
	if _, err := d.Decide(no); err == nil {
		t.Error("nobody says that the no is not written")
	}
	refuses(t, g, w, "agent", denied.ID, nil, "denied")
	refuses(t, g, w, "agent", approved.ID, nil, "not_written")
	if _, _, err := g.Propose(t.Context(), Proposal{Principal: "agent", Target: "pid:15", Action: Terminate}); err == nil {
		t.Error("a plan that is not written waits")
	}
	if n, _, err := Verify(dir); err != nil || n != 4 {
		t.Errorf("the audit on a full disk: %d entries, %v", n, err)
	}
	free()
	if _, err := d.Decide(yes(undecided)); err != nil {
		t.Error(err)
	}
	if r, _, err := g.Execute(t.Context(), "agent", undecided.ID, nil); err != nil || r.State != Done || w.did != 1 {
		t.Errorf("with room again: %+v, %v", r, err)
	}
	if _, _, err := Verify(dir); err != nil {
		t.Error(err)
	}
}

// TestALineThatACrashCut is no damage: it was never acknowledged, and the next
// entry takes its place.
func TestALineThatACrashCut(t *testing.T) {
	dir := t.TempDir()
	for range 3 {
		if err := note(dir, Entry{Event: "proposed", Does: []string{"end process 12"}}); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, auditFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	second := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for cut := second; cut < len(whole); cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		if n, _, err := Verify(dir); n != 2 || err != nil {
			t.Fatalf("cut at %d of %d: %d entries, %v", cut, len(whole), n, err)
		}
		if err := note(dir, Entry{Event: "denied"}); err != nil {
			t.Fatal(err)
		}
		if n, _, err := Verify(dir); n != 3 || err != nil {
			t.Fatalf("cut at %d of %d, and gone on: %d entries, %v", cut, len(whole), n, err)
		}
	}
}

// TestAServerThatDiesWhileItRecovers says what became of a plan once: the one
// before had written the audit, and not the plan.
func TestAServerThatDiesWhileItRecovers(t *testing.T) {
	dir := t.TempDir()
	g, _, err := Open(dir, asking, &world{})
	if err != nil {
		t.Fatal(err)
	}
	r := propose(t, g, kill)
	if err := errors.Join(g.store.close(), note(dir, entryOf(&r, string(Void), "a server", "", time.Now()))); err != nil {
		t.Fatal(err)
	}
	next, _ := open(t, dir, asking, &world{})
	if found := next.Recovered(); len(found) != 1 || found[0].State != Void {
		t.Errorf("%+v", found)
	}
	b, err := os.ReadFile(filepath.Join(dir, auditFile))
	if n := bytes.Count(b, []byte(`"event":"void"`)); err != nil || n != 1 {
		t.Errorf("%d times, %v: %s", n, err, b)
	}
}
