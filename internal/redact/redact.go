// Package redact takes out of a text what must not leave this machine or fool
// its reader: secrets (their first four characters stay, so that a person can
// tell which one it was), terminal escapes, control characters and invisible or
// direction-changing Unicode. It is idempotent and leaves numbers, shapes,
// hashes and paths alone.
package redact

import (
	"strings"
	"unicode/utf8"
)

const mark = "[redacted]"

// Text returns s without secrets and without what a terminal or a reader would
// not see as text. Newlines and tabs stay.
func Text(s string) string {
	s = Clean(s)
	low := strings.ToLower(s)
	for _, all := range [][]rule{rules, shapes()} {
		for i := range all {
			if r := &all[i]; r.applies(low) {
				s = r.replace(s)
			}
		}
	}
	return s
}

// Clip is Text cut to max characters. The cut comes last, so that half a secret
// never escapes the rules; what lies far behind it is not looked at.
func Clip(s string, max int) string {
	s = Text(Ahead(s, max))
	if len(s) <= max {
		return s
	}
	r := []rune(s)
	if len(r) <= max {
		return s
	}
	return string(r[:max-1]) + "…"
}

// Ahead is as much of s as decides about its first max characters.
func Ahead(s string, max int) string {
	if most := 8*max + 4096; len(s) > most {
		return s[:most] + "…"
	}
	return s
}

// Lines is Text for the consecutive lines of one file: what spans lines, such as
// a private key, is recognised.
func Lines(lines []string) []string {
	text := strings.Split(Text(strings.Join(lines, "\n")), "\n") // as many lines as before
	out := make([]string, len(lines))
	for i, l := range lines {
		n := strings.Count(l, "\n") + 1
		out[i] = strings.Join(text[:n], "\n")
		text = text[n:]
	}
	return out
}

// mask hides a secret; a long one keeps its first four characters. As many lines
// stay as there were.
func mask(secret string) string {
	if strings.Contains(secret, "\n") {
		lines := strings.Split(secret, "\n")
		for i, l := range lines {
			if strings.TrimSpace(l) != "" {
				lines[i] = mark
			}
		}
		return strings.Join(lines, "\n")
	}
	if len(secret) < 20 {
		return mark
	}
	keep := 0
	for keep < 4 || !utf8.RuneStart(secret[keep]) {
		keep++
	}
	return secret[:keep] + "…" + mark
}
