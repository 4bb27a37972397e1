package logformat

import (
	"bytes"
	"testing"
)

func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"colours go", "\x1b[1m  1/120\x1b[0m \x1b[32m━\x1b[0m", "  1/120 ━"},
		{"cursor movements go", "\x1b[K   1/120\x1b[2A", "   1/120"},
		{"a link keeps its text", "\x1b]8;;https://example.com\x1b\\text\x1b]8;;\x07", "text"},
		{"an unended string keeps its text", "\x1b]0;title", "0;title"},
		{"backspaces erase", "abc\b\bX", "aX"},
		{"a backspace erases a whole character", "a█\bb", "ab"},
		{"a backspace at the start does nothing", "\b\ba", "a"},
		{"control bytes go, tabs stay", "a\x00b\tc\x7f\x01", "ab\tc"},
		{"an unended escape goes", "abc\x1b[31", "abc"},
		{"a charset goes", "\x1b(Babc", "abc"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(Clean(nil, []byte(c.in))); got != c.want {
				t.Errorf("want %q, got %q", c.want, got)
			}
		})
	}
	if got := string(Clean([]byte("kept\b"), []byte("\bx"))); got != "kept\bx" {
		t.Errorf("what dst held: want it kept, got %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add([]byte("\x1b[1mbold\x1b[0m\b\b"))
	f.Add([]byte("\x1b]8;;x\x07"))
	f.Fuzz(func(t *testing.T, line []byte) {
		once := Clean(nil, line)
		if bytes.ContainsAny(once, "\x1b\x00\b\x7f") {
			t.Fatalf("%q keeps control bytes: %q", line, once)
		}
		if twice := Clean(nil, once); !bytes.Equal(once, twice) {
			t.Fatalf("%q cleaned twice: %q, then %q", line, once, twice)
		}
	})
}
