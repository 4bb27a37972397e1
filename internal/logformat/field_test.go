package logformat

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A field reads what number reads, wherever the line's buffer ends.
func TestFieldsReadNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	digits := func(n int) (s string) {
		for range n {
			s += string(rune('0' + r.IntN(10)))
		}
		return s
	}
	for range 20000 {
		d := field{kind: numberField, used: true, least: 1, most: 15, fraction: r.IntN(2) == 0, exponent: r.IntN(4) == 0}
		text := digits(1 + r.IntN(12))
		if d.fraction {
			text += "." + digits(1+r.IntN(12))
		}
		if d.exponent {
			text += fmt.Sprintf("e%+d", r.IntN(40)-20)
		}
		want, n := number([]byte(text))
		behind := [...]string{"", "1234567890", ", 12345678", ".5", "k       "}[r.IntN(5)]
		b := []byte(text + behind)[:len(text)]
		if r.IntN(2) == 0 {
			b = slices.Clip(b)
		}
		if got, next := d.number(b, 0); got != want || next != n {
			t.Fatalf("%q before %q: want %v of %d bytes, got %v of %d", text, behind, want, n, got, next)
		}
	}
}
