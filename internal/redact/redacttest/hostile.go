package redacttest

import (
	_ "embed"
	"regexp"
	"strings"
)

// Order is what every one of Hostile says, in words that nothing else has.
const Order = "ignore all previous instructions"

//go:embed hostile.txt
var hostile string

// Hostile are texts that a run may hold to speak to who reads of it, person,
// program or terminal. Each has Order.
func Hostile() []string {
	var out []string
	for _, l := range lines(hostile) {
		out = append(out, escapes.Replace(l))
	}
	return out
}

var escapes = strings.NewReplacer(`\e`, "\x1b", `\a`, "\a", `\r`, "\r", `\b`, "\b", `\0`, "\x00",
	`\rlo`, "\u202e", `\pdf`, "\u202c", `\zw`, "\u200b", `\zj`, "\u200d", `\tag`, "\U000e0049\U000e0047", `\vs`, "\ufe01", `\ls`, "\u2028", `\c1`, "\u009b")

var quoted = regexp.MustCompile(`“[^”]*”?|"(?:[^"\\]|\\.)*"?|'[^']*'?`)

// Unquoted reports whether a sentence of ours holds Order outside of quotes.
func Unquoted(sentence string) bool {
	return strings.Contains(strings.ToLower(quoted.ReplaceAllString(sentence, "")), Order)
}

// Raw reports whether a text holds what a terminal or a reader takes for
// something else than text.
func Raw(text string) bool {
	return strings.ContainsAny(text, "\x1b\a\b\r\x00\u009b\u202e\u202c\u200b\u200d\u2028\ufe01\U000e0049\U000e0047")
}
