package redact_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/trainmedic/trainmedic/internal/redact"
)

// TestTheCorpusStays redacts every line of the recorded runs, which hold no
// secret: a diagnosis needs all of them as they are. Lines that differ in digits
// only are taken once.
func TestTheCorpusStays(t *testing.T) {
	seen := map[string]bool{}
	for _, root := range []string{"../diagnose/testdata", "../../examples"} {
		err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(p)
			if err != nil || !utf8.Valid(text) {
				return err
			}
			n := 0
			for line := range strings.Lines(string(text)) {
				n++
				line = redact.Clean(strings.TrimSuffix(line, "\n"))
				form := strings.Map(digit, line)
				if seen[form] || len(line) > 10_000 {
					continue
				}
				seen[form] = true
				if got := redact.Text(line); got != line {
					t.Errorf("%s:%d: want %.300q\n got %.300q", p, n, line, got)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(seen) < 10_000 {
		t.Errorf("only %d lines", len(seen))
	}
}

func digit(r rune) rune {
	if r >= '0' && r <= '9' {
		return '0'
	}
	return r
}
