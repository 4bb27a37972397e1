package gate

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

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
