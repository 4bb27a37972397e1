// Package redacttest holds what tests of every face show a run with: secrets of
// all kinds, texts that only look like one, and texts that speak to their reader.
package redacttest

import (
	_ "embed"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
)

//go:embed secrets.txt
var secrets string

//go:embed lookalikes.txt
var lookalikes string

// Secret is one kind of secret in a text as a program prints it.
type Secret struct {
	Kind   string
	Text   string
	Hidden []string // the parts of Text that must not leave
	Marked string   // Text with « and » around them
}

// Secrets are the kinds of secrets.txt. Their random parts are the same each time.
func Secrets() []Secret {
	var out []Secret
	for _, line := range lines(secrets) {
		kind, text, ok := strings.Cut(line, " = ")
		if !ok {
			panic("redacttest: " + line)
		}
		marked := filled(strings.ReplaceAll(text, `\n`, "\n"), uint64(len(out)))
		s := Secret{Kind: kind, Text: strings.NewReplacer("«", "", "»", "").Replace(marked), Marked: marked}
		for _, m := range regexp.MustCompile(`«([^»]+)»`).FindAllStringSubmatch(marked, -1) {
			s.Hidden = append(s.Hidden, m[1])
		}
		out = append(out, s)
	}
	return out
}

// Lookalikes must leave as they are.
func Lookalikes() []string { return lines(lookalikes) }

// lines are those that are not empty and no comments.
func lines(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSuffix(l, "\n"); l != "" && !strings.HasPrefix(l, "#") {
			out = append(out, l)
		}
	}
	return out
}

const (
	digits   = "0123456789"
	letters  = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	alphanum = letters + digits
)

var (
	blank    = regexp.MustCompile(`\{([aAxdbw]?)(\d+)\}`)
	alphabet = map[string]string{
		"": alphanum, "a": letters, "A": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "x": "0123456789abcdef",
		"d": digits, "b": alphanum + "+/", "w": alphanum + "_-",
	}
)

// filled puts random characters into the blanks. The first two of a blank are a
// letter and a digit where its alphabet has both, as in almost every real secret.
func filled(text string, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 1))
	text = strings.ReplaceAll(text, "|", "")
	return blank.ReplaceAllStringFunc(text, func(b string) string {
		m := blank.FindStringSubmatch(b)
		n, _ := strconv.Atoi(m[2]) // the expression lets only digits through
		from := alphabet[m[1]]
		out := make([]byte, n)
		for i := range out {
			out[i] = from[r.IntN(len(from))]
		}
		if strings.Contains(from, "0") && strings.Contains(from, "a") && n > 4 {
			copy(out, "a7k9"[:min(4, n)])
			if m[1] == "x" {
				copy(out, "a7c9")
			}
		}
		return string(out)
	})
}
