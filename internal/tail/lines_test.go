package tail_test

import (
	"bytes"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/tail"
)

func TestLastLines(t *testing.T) {
	long := strings.Repeat("x", 200_000)
	for _, c := range []struct {
		name, in string
		n        int
		want     string
	}{
		{"fewer than asked", "a\nb\n", 5, "a\nb\n"},
		{"exactly", "a\nb\n", 2, "a\nb\n"},
		{"last", "a\nb\n", 1, "b\n"},
		{"last without its end", "a\nb\nc", 2, "b\nc"},
		{"empty lines count", "a\n\n\n", 2, "\n\n"},
		{"none", "a\n", 0, ""},
		{"empty file", "", 3, ""},
		{"lines longer than a block", long + "\n" + long + "\n" + long + "\n", 2, long + "\n" + long + "\n"},
		{"a line end at a block's edge", strings.Repeat("y", 65535) + "\n" + strings.Repeat("z", 65535) + "\n", 1, strings.Repeat("z", 65535) + "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			at, err := tail.LastLines(strings.NewReader(c.in), int64(len(c.in)), c.n)
			if err != nil {
				t.Fatal(err)
			}
			if got := c.in[at:]; got != c.want {
				t.Errorf("got %d bytes from %d, want %d", len(got), at, len(c.want))
			}
		})
	}
}

func TestLastLinesOfBarsIsBounded(t *testing.T) {
	in := bytes.Repeat([]byte(" 10%|#   | 100/1000\r"), 5_000_000) // 95 MB without a \n
	at, err := tail.LastLines(bytes.NewReader(in), int64(len(in)), 500)
	if err != nil {
		t.Fatal(err)
	}
	if got := int64(len(in)) - at; got > 65<<20 || in[at-1] != '\r' {
		t.Errorf("read %d bytes back, byte before is %q", got, in[at-1])
	}
}

func TestShrunkFile(t *testing.T) {
	if _, err := tail.LastLines(strings.NewReader("a\n"), 100, 1); err == nil {
		t.Error("a file shorter than its size was read without an error")
	}
}

// grow writes text in pieces and looks after each; the lines seen must be those
// of the text, whatever the pieces and the bound of a look.
func grow(t *testing.T, text []byte, cuts []int, limit int64) {
	t.Helper()
	var c tail.Cursor
	var seen []byte
	var more bool
	looks := append(cuts, len(text), len(text))
	for i := 0; i < len(looks) || more || len(seen) < len(text); i++ {
		if i > len(looks)+len(text)+2 {
			t.Fatalf("%d looks give %d of %d bytes", i, len(seen), len(text))
		}
		n := looks[min(i, len(looks)-1)]
		c = tail.ParseCursor(c.String()) // as through the journal
		if fate, err := c.Fate(bytes.NewReader(text[:n]), int64(n), "1:2"); err != nil || fate != tail.Same {
			t.Fatalf("look %d: fate %v, %v", i, fate, err)
		}
		p, err := c.Look(bytes.NewReader(text[:n]), int64(n), "1:2", limit)
		if err != nil {
			t.Fatal(err)
		}
		if p.From < 0 || p.To < p.From || p.To > int64(n) || p.From > int64(len(seen)) {
			t.Fatalf("look %d gives [%d, %d) of %d bytes, %d are known", i, p.From, p.To, n, len(seen))
		}
		if p.From < p.To {
			if again := seen[p.From:]; bytes.ContainsAny(again, "\r\n") {
				t.Fatalf("look %d gives the whole line %q again", i, again)
			}
			if want := bytes.Count(text[:p.From], []byte("\n")) + 1; p.Number != want {
				t.Fatalf("look %d begins with line %d, want %d", i, p.Number, want)
			}
			seen = append(seen[:p.From], text[p.From:p.To]...)
		}
		c, more = p.Next, p.More
	}
	if diff := cmp.Diff(string(text), string(seen)); diff != "" {
		t.Error(diff)
	}
}

func TestAnyGrowthGivesTheSameLines(t *testing.T) {
	text := []byte(strings.Repeat("step 1 loss 2.5\n 10%|# |\r 20%|## |\r\nno end yet", 20))
	rnd := rand.New(rand.NewSource(1))
	for range 500 {
		var cuts []int
		for n := 0; n < len(text); n += rnd.Intn(60) {
			cuts = append(cuts, n)
		}
		grow(t, text, cuts, int64(rnd.Intn(80)))
	}
}

func TestLaterLooksGiveWholeLinesOnly(t *testing.T) {
	var c tail.Cursor
	for _, s := range []struct{ text, want string }{
		{"a\nb", "a\nb"}, {"a\nbc", ""}, {"a\nbcd\ne", "bcd\n"}, {"a\nbcd\ne", "e"}, {"a\nbcd\ne", ""}, {"a\nbcd\nef\n", "ef\n"},
	} {
		p, err := c.Look(strings.NewReader(s.text), int64(len(s.text)), "1", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.text[p.From:p.To]; got != s.want {
			t.Errorf("%q: got %q, want %q", s.text, got, s.want)
		}
		c = p.Next
	}
}

func TestFate(t *testing.T) {
	long := strings.Repeat("step 1 loss 2.5\n", 10)
	for _, s := range []struct {
		name, was, now, ident string
		want                  tail.Fate
	}{
		{"grows", "a\n", "a\nb\n", "1", tail.Same},
		{"stands still", "a\n", "a\n", "1", tail.Same},
		{"another inode, other bytes", "a\n", "b\nb\n", "2", tail.Replaced},
		{"another inode, shorter", "a\nb\n", "b\n", "2", tail.Replaced},
		{"another inode, too short to be sure", "a\n", "a\nb\n", "2", tail.Replaced},
		{"another inode, the same bytes", long, long + "b\n", "2", tail.Same},
		{"shrank", "a\nb\n", "a\n", "1", tail.Truncated},
		{"written anew beyond its old size", "a\n", "b\nb\n", "1", tail.Truncated},
		{"written on behind a hole", "a\nb\n", "\x00\x00\x00\x00c\n", "1", tail.Holed},
		{"was empty", "", "a\n", "1", tail.Same},
	} {
		t.Run(s.name, func(t *testing.T) {
			p, err := tail.Cursor{}.Look(strings.NewReader(s.was), int64(len(s.was)), "1", 0)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := p.Next.Fate(strings.NewReader(s.now), int64(len(s.now)), s.ident); err != nil || got != s.want {
				t.Errorf("got %v, %v, want %v", got, err, s.want)
			}
		})
	}
}

func TestParseCursor(t *testing.T) {
	c := tail.Cursor{Ident: "8:1 with space", Size: 10, Line: 5, Given: 7, Number: 3, Print: 0xabc}
	if got := tail.ParseCursor(c.String()); got != c {
		t.Errorf("got %+v, want %+v", got, c)
	}
	for _, s := range []string{"", "x", "1 2 3", "5 9 9 1 0 id", "-1 -1 -1 1 0 id", "9 5 7 -1 0 id", fmt.Sprint(1, 2)} {
		if got := tail.ParseCursor(s); got != (tail.Cursor{}) {
			t.Errorf("ParseCursor(%q) = %+v", s, got)
		}
	}
}

func FuzzGrowth(f *testing.F) {
	f.Add([]byte("a\nb\rc\r\nd"), []byte{1, 2, 3}, int64(0))
	f.Add([]byte("a\nbbbbbbbbbb\nc"), []byte{4, 1}, int64(3))
	f.Fuzz(func(t *testing.T, text, steps []byte, limit int64) {
		var cuts []int
		n := 0
		for _, s := range steps {
			if n += int(s); n > len(text) {
				break
			}
			cuts = append(cuts, n)
		}
		grow(t, text, cuts, limit%1000)
	})
}

func FuzzLastLines(f *testing.F) {
	f.Add("a\nb\n\nc", 2)
	f.Fuzz(func(t *testing.T, in string, n int) {
		at, err := tail.LastLines(strings.NewReader(in), int64(len(in)), n)
		if err != nil || at < 0 || at > int64(len(in)) {
			t.Fatal(at, err)
		}
		lines := strings.SplitAfter(in, "\n")
		if lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		n = min(max(n, 0), len(lines))
		if want := strings.Join(lines[len(lines)-n:], ""); in[at:] != want {
			t.Errorf("got %q, want %q", in[at:], want)
		}
	})
}
