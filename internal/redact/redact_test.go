package redact_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/redact"
)

// a builds a test secret, so that no scanner takes this file for a leak.
func a(parts ...string) string { return strings.Join(parts, "") }

func TestACommandInASecretsPlaceStays(t *testing.T) {
	const s = `curl -H "Authorization: Bearer $(gcloud auth print-access-token)" https://x`
	if got := redact.Text(s); got != s {
		t.Errorf("want %q\n got %q", s, got)
	}
}

func TestCleanTakesOutWhatIsNotText(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m":                      "red",
		"\x1b]0;title\x07text":                    "text",
		"\x1b]8;;https://x\x1b\\a\x1b]8;;\x1b\\b": "ab",
		"a\x00b\x08c\rd\te\nf":                    "abcd\te\nf",
		"ok\u202egnp.exe\u2066":                   "okgnp.exe",
		"x\U000E0041\U000E0042y\u200bz":           "xyz",
		"bad\xffutf":                              "bad\uFFFDutf",
		"a\u200db\u2063c\u00add\ufe0fe\u3164f":    "abcdef",
		"Größe 模型 ✓":                              "Größe 模型 ✓",
	} {
		if got := redact.Clean(in); got != want {
			t.Errorf("Clean(%q)\nwant %q\n got %q", in, want, got)
		}
	}
}

func TestClipCutsCharactersAfterRedacting(t *testing.T) {
	if got, want := redact.Clip("ααααα", 3), "αα…"; got != want {
		t.Errorf("want %q, got %q", want, got)
	}
	secret := a("hf", "_") + strings.Repeat("a1B2", 9)
	if got := redact.Clip("x "+secret, 20); strings.Contains(got, "a1B2") {
		t.Errorf("half a secret escaped: %q", got)
	}
}

func TestWhatLiesFarBehindTheCutCostsNothing(t *testing.T) {
	key := "-----BEGIN " + "RSA PRIVATE KEY-----"
	if got := redact.Clip(key+" "+strings.Repeat("aB3+", 10_000), 60); got != key+" aB3…[redacted]" {
		t.Errorf("%q", got)
	}
	long := strings.Repeat("x ", 1<<22)
	if got := redact.Ahead(long, 100); len(got) > 5000 || !strings.HasPrefix(long, strings.TrimSuffix(got, "…")) {
		t.Errorf("%d bytes", len(got))
	}
}

func TestLinesKnowsAKeyOverSeveralLines(t *testing.T) {
	in := []string{"before", "-----BEGIN " + "RSA PRIVATE KEY-----", "MIIEowIBAAKCAQEA", "abc=", "-----END RSA PRIVATE KEY-----", "after"}
	got := redact.Lines(in)
	want := []string{"before", "-----BEGIN RSA PRIVATE KEY-----", "[redacted]", "[redacted]", "-----END RSA PRIVATE KEY-----", "after"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func FuzzText(f *testing.F) {
	f.Add("Authorization: Bearer abc \x1b[3")
	f.Fuzz(func(t *testing.T, s string) {
		got := redact.Text(s)
		if !utf8.ValidString(got) {
			t.Errorf("invalid UTF-8 from %q", s)
		}
		if again := redact.Text(got); again != got {
			t.Errorf("not idempotent: %q, then %q", got, again)
		}
	})
}
