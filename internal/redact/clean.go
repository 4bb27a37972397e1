package redact

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// escape is a terminal sequence: CSI, OSC and the other strings, or two characters.
var escape = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[ -/]*[0-~])")

// Clean takes out terminal escapes, control characters other than newline and
// tab, and characters that hide or reorder text: bidirectional controls,
// zero-width characters and Unicode tags. Broken UTF-8 becomes U+FFFD.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	if strings.IndexByte(s, 0x1b) >= 0 {
		s = escape.ReplaceAllString(s, "")
	}
	return strings.Map(func(r rune) rune {
		if hidden(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// plain reports whether nothing has to be done: printable ASCII, as most lines are.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

func hidden(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.IsControl(r), unicode.Is(unicode.Cf, r): // direction, zero width, tags
		return true
	case unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r): // drawn as nothing
		return true
	case r == '\u2028' || r == '\u2029': // a new line for some readers
		return true
	}
	return false
}
