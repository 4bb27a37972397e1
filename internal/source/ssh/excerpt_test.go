package ssh

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/remote/sshdtest"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// TestExcerpt: of a log that is too large come its head, its tail and what lies
// around the words, each line with its number and its place in the file; then
// what it gains.
func TestExcerpt(t *testing.T) {
	s := sshdtest.Start(t)
	p := sshdtest.NewProxy(t, s)
	home := sshdtest.NewHome(t, s)
	home.Know(p.Server(s))
	home.Config(sshdtest.Box("box", p.Server(s)))
	pool := &remote.Pool{Client: remote.Client{Home: home.Dir}}
	defer pool.Close()
	k := &kind{pool: pool, most: 64 << 20}

	var text strings.Builder
	for i := 1; text.Len() < 90<<20; i++ {
		if i == 700_000 || i == 700_010 || i == 1_000_000 {
			fmt.Fprintf(&text, "line %d CUDA out of MEMORY\n", i)
		}
		fmt.Fprintf(&text, "%0*d INFO step loss\n", 30+i%40, i)
	}
	text.WriteString("no end")
	path := filepath.Join(t.TempDir(), "train.log")
	if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	src, err := k.open(t.Context(), "box:"+path, source.Options{Watch: true, Words: func() []string { return []string{"out of memory", "it's $(bad)"} }})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	obs, err := src.Observe(t.Context(), nil)
	if err != nil || len(obs.Streams) != 1 || len(obs.Gaps) != 1 || obs.More {
		t.Fatalf("got %+v, %v", obs, err)
	}
	hits, lines := check(t, obs.Streams[0], text.String())
	if hits != 3 {
		t.Errorf("%d of 3 lines with the words came", hits)
	}
	if n := p.From.Load(); n > 20<<20 {
		t.Errorf("%d bytes travelled", n)
	} else {
		t.Logf("%d bytes travelled, %d lines", n, lines)
	}

	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(" now\nnext\n")
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	obs, err = src.Observe(t.Context(), obs.Next)
	if err != nil || len(obs.Streams) != 1 {
		t.Fatalf("got %+v, %v", obs, err)
	}
	st := obs.Streams[0]
	if want := strings.Count(text.String(), "\n") + 1; st.FirstLine != want || st.Offset != int64(text.Len()-len("no end")) {
		t.Errorf("it goes on with line %d at %d, want %d", st.FirstLine, st.Offset, want)
	}
}

// check compares each line of an excerpt with the file at the place that it
// names.
func check(t *testing.T, st run.Stream, text string) (hits, lines int) {
	t.Helper()
	r, err := st.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	origin := r.(interface{ Origin(line int) run.Ref })
	number, at := 1, int64(0)
	for s := bufio.NewScanner(r); s.Scan(); {
		lines++
		ref := origin.Origin(lines)
		number += strings.Count(text[at:ref.Offset], "\n")
		if at = ref.Offset; ref.Line != number || !strings.HasPrefix(text[at:], s.Text()) || at > 0 && text[at-1] != '\n' {
			t.Fatalf("line %d of the excerpt, %q, is said to be %v at %d (line %d)", lines, s.Text(), ref, at, number)
		}
		if strings.Contains(s.Text(), "MEMORY") {
			hits++
		}
	}
	return hits, lines
}
