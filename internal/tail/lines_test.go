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
// of the text, whatever the pieces.
func grow(t *testing.T, text []byte, cuts []int) {
	t.Helper()
	var c tail.Cursor
	var seen []byte
	for i, n := range append(cuts, len(text), len(text), len(text)) {
		c = tail.ParseCursor(c.String()) // as through the journal
		from, to, next, err := c.Look(bytes.NewReader(text[:n]), int64(n), "1:2")
		if err != nil {
			t.Fatal(err)
		}
		if from < 0 || to < from || to > int64(n) || from > int64(len(seen)) {
			t.Fatalf("look %d gives [%d, %d) of %d bytes, %d are known", i, from, to, n, len(seen))
		}
		if from < to {
			if again := seen[from:]; bytes.ContainsAny(again, "\r\n") {
				t.Fatalf("look %d gives the whole line %q again", i, again)
			}
			seen = append(seen[:from], text[from:to]...)
		}
		c = next
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
		grow(t, text, cuts)
	}
}

func TestLaterLooksGiveWholeLinesOnly(t *testing.T) {
	var c tail.Cursor
	for _, s := range []struct{ text, want string }{
		{"a\nb", "a\nb"}, {"a\nbc", ""}, {"a\nbcd\ne", "bcd\n"}, {"a\nbcd\ne", "e"}, {"a\nbcd\ne", ""}, {"a\nbcd\nef\n", "ef\n"}, {"x\n", "x\n"},
	} {
		from, to, next, err := c.Look(strings.NewReader(s.text), int64(len(s.text)), "1")
		if err != nil {
			t.Fatal(err)
		}
		if got := s.text[from:to]; got != s.want {
			t.Errorf("%q: got %q, want %q", s.text, got, s.want)
		}
		c = next
	}
	if from, to, _, _ := c.Look(strings.NewReader("y\nz\n"), 4, "another"); from != 0 || to != 4 {
		t.Errorf("a replaced file gives [%d, %d)", from, to)
	}
}

func TestParseCursor(t *testing.T) {
	c := tail.Cursor{Ident: "8:1 with space", Size: 10, Line: 5, Given: 7}
	if got := tail.ParseCursor(c.String()); got != c {
		t.Errorf("got %+v, want %+v", got, c)
	}
	for _, s := range []string{"", "x", "1 2 3", "5 9 9 id", "-1 -1 -1 id", fmt.Sprint(1, 2)} {
		if got := tail.ParseCursor(s); got != (tail.Cursor{}) {
			t.Errorf("ParseCursor(%q) = %+v", s, got)
		}
	}
}

func FuzzGrowth(f *testing.F) {
	f.Add([]byte("a\nb\rc\r\nd"), []byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, text, steps []byte) {
		var cuts []int
		n := 0
		for _, s := range steps {
			if n += int(s); n > len(text) {
				break
			}
			cuts = append(cuts, n)
		}
		grow(t, text, cuts)
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
