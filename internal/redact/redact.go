// Package redact takes out of a text what must not leave this machine or fool
// its reader: secrets (their first four characters stay, so that a person can
// tell which one it was), terminal escapes, control characters and invisible or
// direction-changing Unicode. It is idempotent and leaves numbers, shapes,
// hashes and paths alone.
package redact

import "strings"

const mark = "[redacted]"

// Text returns s without secrets and without what a terminal or a reader would
// not see as text. Newlines and tabs stay.
func Text(s string) string {
	s = Clean(s)
	low := strings.ToLower(s)
	for i := range rules {
		r := &rules[i]
		if r.applies(low) {
			s = r.replace(s)
		}
	}
	return s
}

// Clip is Text cut to max characters. The cut comes last, so that half a secret
// never escapes the rules.
func Clip(s string, max int) string {
	s = Text(s)
	if len(s) <= max {
		return s
	}
	r := []rune(s)
	if len(r) <= max {
		return s
	}
	return string(r[:max-1]) + "…"
}

// Lines is Text for the consecutive lines of one file: a private key is
// recognised although it spans lines.
func Lines(lines []string) []string {
	out := make([]string, len(lines))
	inKey := false
	for i, l := range lines {
		begins, ends := strings.Contains(l, "-----BEGIN ") && strings.Contains(l, "PRIVATE KEY"), strings.Contains(l, "-----END ")
		switch {
		case inKey && !ends:
			out[i] = mark
		default:
			out[i] = Text(l)
		}
		inKey = (inKey || begins) && !ends
	}
	return out
}

// mask hides a secret; a long one keeps its first four characters.
func mask(secret string) string {
	if len(secret) < 20 {
		return mark
	}
	return secret[:4] + "…" + mark
}
