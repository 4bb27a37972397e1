package redact_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/redact/redacttest"
)

var marked = regexp.MustCompile(`«([^»]+)»`)

// masked is what a text must become.
func masked(text string) string {
	return marked.ReplaceAllStringFunc(text, func(m string) string {
		secret := strings.TrimSuffix(strings.TrimPrefix(m, "«"), "»")
		switch {
		case strings.Contains(secret, "\n"):
			return regexp.MustCompile(`[^\n]+`).ReplaceAllString(secret, "[redacted]")
		case len(secret) < 20:
			return "[redacted]"
		}
		return secret[:4] + "…[redacted]"
	})
}

func TestEveryKindOfSecretGoesAndAllElseStays(t *testing.T) {
	all := redacttest.Secrets()
	if len(all) < 90 {
		t.Errorf("%d kinds", len(all))
	}
	for _, s := range all {
		t.Run(s.Kind, func(t *testing.T) {
			want, got := masked(s.Marked), redact.Text(s.Text)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("Text(%q)\n%s", s.Text, d)
			}
			if again := redact.Text(got); again != got {
				t.Errorf("not idempotent: %q became %q", got, again)
			}
			lines := redact.Lines(strings.Split(s.Text, "\n"))
			if d := cmp.Diff(want, strings.Join(lines, "\n")); d != "" {
				t.Errorf("Lines: %s", d)
			}
		})
	}
}

// TestSecretsGoWhereverTheyStand puts each text where logs have it.
func TestSecretsGoWhereverTheyStand(t *testing.T) {
	inJSON := func(s string) string {
		b, err := json.Marshal(map[string]string{"message": s})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for place, put := range map[string]func(string) string{
		"behind a time": func(s string) string { return "2026-01-01 12:00:00,123 [rank3] INFO t.py:12 - " + s },
		"in a colour":   func(s string) string { return "\x1b[31m" + s + "\x1b[0m" },
		"in JSON":       inJSON,
		"in an error":   func(s string) string { return fmt.Sprintf("RuntimeError: could not start (%s)", s) },
		"twice":         func(s string) string { return s + " and again " + s },
		"on one line":   func(s string) string { return strings.ReplaceAll(s, "\n", " ") },
	} {
		for _, s := range redacttest.Secrets() {
			t.Run(place+"/"+s.Kind, func(t *testing.T) {
				got := redact.Text(put(s.Text))
				for _, h := range s.Hidden {
					for part := range strings.SplitSeq(h, "\n") {
						if len(part) > 4 && strings.Contains(got, part) {
							t.Errorf("%q became %q", put(s.Text), got)
						}
					}
				}
			})
		}
	}
}

func TestLookalikesStay(t *testing.T) {
	for _, s := range redacttest.Lookalikes() {
		if got := redact.Text(s); got != s {
			t.Errorf("changed\nwant %q\n got %q", s, got)
		}
	}
}
