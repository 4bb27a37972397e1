package run

import "strings"

// maxQuote bounds, in bytes, what is quoted in a sentence.
const maxQuote = 200

var unquoted = strings.NewReplacer("“", `"`, "”", `"`, "\n", " ", "\r", " ", "\t", " ")

// Quote puts words that come from the run into a sentence of ours: on one line,
// cut to 200 bytes, between “ and ”, which the words themselves then do not hold.
// Whatever they say, it is told and not said.
func Quote(words string) string {
	s := strings.TrimSpace(unquoted.Replace(words))
	if len(s) > maxQuote {
		s = strings.ToValidUTF8(s[:maxQuote-3], "") + "…"
	}
	return "“" + s + "”"
}

// Name puts a name that comes from the run into a sentence of ours: as it is where
// it is one plain word, else quoted.
func Name(name string) string {
	if len(name) > 100 || name == "" || strings.Contains(strings.ToLower(name), "http") {
		return Quote(name)
	}
	for _, c := range name {
		plain := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("_.-/:@+=%#,*~", c)
		if !plain {
			return Quote(name)
		}
	}
	return name
}
