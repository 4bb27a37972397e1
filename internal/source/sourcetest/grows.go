package sourcetest

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/quick"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Grows tests that a source goes on after a cursor: whatever the pieces in which
// the log dir/name grows, it gives the same bytes, once and in order, also when
// the cursor went through a journal and the source was opened anew, and when the
// log was rotated between two looks. open opens the target, to be watched.
func Grows(t *testing.T, name string, open func(t *testing.T, dir string) source.Source) {
	t.Helper()
	GrowsOften(t, 60, name, open)
}

// GrowsOften is Grows with a number of tries for each way to rotate, for a
// source whose looks take long.
func GrowsOften(t *testing.T, tries int, name string, open func(t *testing.T, dir string) source.Source) {
	t.Helper()
	for how, rotate := range map[string]func(path string, n int) error{
		"appended": nil, "renamed": renamed, "copied and truncated": truncated,
	} {
		t.Run(how, func(t *testing.T) {
			check := func(seed int64) bool {
				g := &growth{t: t, rnd: rand.New(rand.NewSource(seed)), dir: t.TempDir(), open: open, rotate: rotate}
				g.path = filepath.Join(g.dir, name)
				return g.run(name)
			}
			if err := quick.Check(check, &quick.Config{MaxCount: tries}); err != nil {
				t.Error(err)
			}
		})
	}
}

func renamed(path string, n int) error {
	for ; n > 0; n-- {
		if err := os.Rename(fmt.Sprint(path, ".", n), fmt.Sprint(path, ".", n+1)); err != nil {
			return err
		}
	}
	if err := os.Rename(path, path+".1"); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o644)
}

func truncated(path string, n int) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for ; n > 0; n-- {
		if err := os.Rename(fmt.Sprint(path, ".", n), fmt.Sprint(path, ".", n+1)); err != nil {
			return err
		}
	}
	if err := os.WriteFile(path+".1", b, 0o644); err != nil {
		return err
	}
	return os.Truncate(path, 0)
}

// enough is how many bytes have to be known of a file to tell a copy of it.
const enough = 64

// growth is one log that grows, and what was seen of it.
type growth struct {
	t         *testing.T
	rnd       *rand.Rand
	dir, path string
	open      func(t *testing.T, dir string) source.Source
	rotate    func(path string, n int) error
	src       source.Source
	since     run.Cursor

	step, rotations int
	want, seen      string // of all files
	part            string // of seen: what was given of the file that is being read
}

func (g *growth) run(name string) bool {
	g.src = g.open(g.t, g.dir)
	defer func() { g.src.Close() }()
	g.grow()
	for range 3 + g.rnd.Intn(12) {
		g.look(name)
		switch {
		case g.rotate != nil && len(g.part) > enough && g.rnd.Intn(3) == 0:
			g.grow()
			if err := g.rotate(g.path, g.rotations); err != nil {
				g.t.Fatal(err)
			}
			g.rotations++
			g.grow()
		case g.rnd.Intn(4) == 0: // a server that was restarted
			g.src.Close()
			g.src = g.open(g.t, g.dir)
		default:
			g.grow()
		}
	}
	for range 4 {
		g.look(name)
	}
	if g.seen != g.want {
		g.t.Logf("want %q\ngot  %q", g.want, g.seen)
		return false
	}
	return true
}

// grow appends some bytes, which need not be whole lines.
func (g *growth) grow() {
	var b strings.Builder
	for range 1 + g.rnd.Intn(6) {
		g.step++
		fmt.Fprintf(&b, "step %d loss 0.%d%s", g.step, g.rnd.Intn(1e6), []string{"\n", "\n", "\r", "\r\n"}[g.rnd.Intn(4)])
	}
	text := b.String()
	text = text[:1+g.rnd.Intn(len(text))]
	f, err := os.OpenFile(g.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		g.t.Fatal(err)
	}
	g.want += text
}

func (g *growth) look(name string) {
	obs, err := g.src.Observe(g.t.Context(), g.since)
	if err != nil {
		g.t.Fatal(err)
	}
	for _, st := range obs.Streams {
		if st.Name == name {
			g.take(st)
		} else if text := Text(g.t, st); text != "" && st.Kind == "log" {
			g.t.Errorf("%s gives %q, which is of an older part of %s", st.Name, text, name)
		}
	}
	b, err := json.Marshal(obs.Next)
	if err == nil {
		g.since = nil
		err = json.Unmarshal(b, &g.since)
	}
	if err != nil {
		g.t.Fatal(err)
	}
}

// take adds a stream to what was seen; only a line without its end is given
// again.
func (g *growth) take(st run.Stream) {
	text := Text(g.t, st)
	end := int64(len(g.part))
	switch {
	case st.Offset == 0 && !strings.HasPrefix(text, g.part):
		g.part, end = "", 0 // the file is a new one
	case st.Offset > end:
		g.t.Fatalf("%s goes on at %d, %d bytes were given", st.Name, st.Offset, end)
	case strings.ContainsAny(g.part[st.Offset:], "\r\n"):
		g.t.Fatalf("%s gives %q again", st.Name, g.part[st.Offset:])
	}
	if want := strings.Count(g.part[:st.Offset], "\n") + 1; st.FirstLine != want {
		g.t.Fatalf("%s goes on with line %d, want %d", st.Name, st.FirstLine, want)
	}
	g.seen = g.seen[:len(g.seen)-int(end-st.Offset)] + text
	g.part = g.part[:st.Offset] + text
}
