//go:build linux

package effect_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect"
)

// next is the bench of the server after one that was killed, over its state.
func next(t *testing.T, before *bench) *bench {
	t.Helper()
	b := newBench(t, &effect.Effects{})
	b.effects.Dir = before.effects.Dir
	if err := b.effects.Recall(); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestTheNextServerKnowsHowARunWasStarted(t *testing.T) {
	first := newBench(t, &effect.Effects{})
	j := start(t, waits)
	first.remember("w1", j.Process.Pid)
	kept := filepath.Join(first.effects.Dir, "starts", "w1.json")
	st, err := os.Stat(kept)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", st, err)
	}
	if dir, err := os.Stat(filepath.Dir(kept)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", dir, err)
	}
	p := gate.Proposal{Run: "w1", Target: j.target(), Action: gate.Restart}
	next(t, first).refused(p, "still_runs")
	j.kill(t)

	b := next(t, first)
	r, _ := b.done(p, gate.Ask) // a file is nobody's word
	j.says(t, "ready blue")
	if text := r.Changed + strings.Join(r.Does, "\n") + r.Outcome; !strings.Contains(r.Changed, kept) || strings.Contains(text, "a1b2a1b2") {
		t.Error(text)
	}
	for name, spoil := range map[string]func() error{
		"others may read it": func() error { return os.Chmod(kept, 0o644) },
		"it is damaged":      func() error { return os.WriteFile(kept, []byte(`[{"Run":"w1"`), 0o600) },
		"it is another's":    func() error { return os.Rename(kept, filepath.Join(filepath.Dir(kept), "w2.json")) },
	} {
		whole, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { next(t, first).refused(p, "not_remembered") })
		os.Remove(kept)
		if err := os.WriteFile(kept, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestARunThatIsSeenAgainNeedsNoPerson has the run outlive the first server: the
// next one sees it itself, but for what was changed before that.
func TestARunThatIsSeenAgainNeedsNoPerson(t *testing.T) {
	first := newBench(t, &effect.Effects{})
	same, edited := start(t, waits), start(t, waits)
	first.remember("w1", same.Process.Pid)
	first.remember("w2", edited.Process.Pid)
	if err := os.WriteFile(filepath.Join(edited.dir, "train.sh"), []byte("echo pwned\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b := next(t, first)
	b.remember("w1", same.Process.Pid)
	b.remember("w2", edited.Process.Pid)
	same.kill(t)
	edited.kill(t)
	b.done(gate.Proposal{Run: "w1", Action: gate.Restart}, gate.Allow)
	if r, ruling, err := b.Propose(t.Context(), gate.Proposal{Run: "w2", Action: gate.Restart}); err != nil || ruling != gate.Ask || !strings.Contains(r.Changed, "train.sh changed") {
		t.Errorf("%s %v %q", ruling, err, r.Changed)
	}
}
