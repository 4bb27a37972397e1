package logformat

import "bytes"

func isDigit(c byte) bool { return c-'0' <= 9 }

func isAlpha(c byte) bool { return (c|0x20)-'a' < 26 }

// isWord is what a name is made of.
func isWord(c byte) bool { return isAlpha(c) || isDigit(c) || c == '_' }

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

func lower(c byte) byte {
	if c-'A' < 26 {
		return c | 0x20
	}
	return c
}

// hasFold reports whether b starts with the lower-case word, in any case.
func hasFold(b []byte, word string) bool {
	if len(b) < len(word) {
		return false
	}
	for i := range len(word) {
		if lower(b[i]) != word[i] {
			return false
		}
	}
	return true
}

// indexFold is where the lower-case word first stands in b, in any case, or -1.
func indexFold(b []byte, word string) int {
	c := word[0]
	for i := 0; i+len(word) <= len(b); i++ {
		if lower(b[i]) == c && hasFold(b[i:], word) {
			return i
		}
	}
	return -1
}

func has(b []byte, s string) bool { return len(b) >= len(s) && string(b[:len(s)]) == s }

func contains(b []byte, s string) bool { return bytes.Contains(b, []byte(s)) }

func skipSpace(b []byte) []byte {
	for len(b) > 0 && isSpace(b[0]) {
		b = b[1:]
	}
	return b
}

// after is what follows the first s in b.
func after(b []byte, s string) ([]byte, bool) {
	if i := bytes.Index(b, []byte(s)); i >= 0 {
		return b[i+len(s):], true
	}
	return nil, false
}
