package redact

import (
	_ "embed"
	"math"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

//go:embed gitleaks/rules.tsv
var shapeTable string

// shapes are the secrets that are known by their own shape, from the rule set of
// gitleaks. An expression is compiled when the first text has one of its words:
// most never are.
var shapes = sync.OnceValue(func() []rule {
	var out []rule
	for line := range strings.Lines(shapeTable) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if strings.HasPrefix(line, "#") || len(f) != 4 {
			continue
		}
		least, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			panic("redact: " + f[0] + ": " + err.Error()) // a mistake in our own table; the tests compile all of it
		}
		out = append(out, rule{name: f[0], hint: strings.Split(f[1], ","), re: sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(f[3]) }), is: func(v string) bool { return entropy(v) >= least }})
	}
	return out
})

// entropy is Shannon's, in bits for each byte.
func entropy(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	var sum float64
	for _, n := range count {
		if n > 0 {
			p := float64(n) / float64(len(s))
			sum -= p * math.Log2(p)
		}
	}
	return sum
}
