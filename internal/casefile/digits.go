package casefile

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

func newSignMemo(s *Sign) *signMemo {
	k := &signMemo{verdicts: map[string]verdict{}}
	for _, l := range s.Literals {
		if strings.ContainsAny(l, "0123456789") {
			k.numbered = append(k.numbered, l)
		} else {
			k.plain = append(k.plain, l)
		}
	}
	re, err := syntax.Parse(s.Regexp.src, syntax.Perl)
	if err != nil { // the book compiles what it holds
		return k
	}
	var sides [10]string
	tellApart(re, &sides)
	if sides == [10]string{} {
		return k
	}
	k.wide, k.digits, k.near = regexp.MustCompile(widened(re).String()), new([256]byte), map[string][]int{}
	for c := range k.digits {
		k.digits[c] = byte(c)
	}
	for d := range sides {
		k.digits['0'+d] = '0' + byte(slices.Index(sides[:], sides[d]))
	}
	return k
}

// tellApart notes of each digit which parts of a regexp it fits, of those parts
// that some digits fit and others do not: "y" or "n" for each.
func tellApart(re *syntax.Regexp, sides *[10]string) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			side(sides, []rune{r, r})
		}
	case syntax.OpCharClass:
		side(sides, re.Rune)
	}
	for _, sub := range re.Sub {
		tellApart(sub, sides)
	}
}

func side(sides *[10]string, ranges []rune) {
	fits, n := [10]bool{}, 0
	for d := range fits {
		if fits[d] = within(ranges, rune('0'+d)); fits[d] {
			n++
		}
	}
	if n == 0 || n == len(fits) {
		return
	}
	for d := range sides {
		if fits[d] {
			sides[d] += "y"
		} else {
			sides[d] += "n"
		}
	}
}

func within(ranges []rune, r rune) bool {
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i] <= r && r <= ranges[i+1] {
			return true
		}
	}
	return false
}

// widened is a regexp that takes any digit where re takes one or some of them:
// what it does not match, re does not match with any digits.
func widened(re *syntax.Regexp) *syntax.Regexp {
	out := *re
	switch re.Op {
	case syntax.OpLiteral:
		out = syntax.Regexp{Op: syntax.OpConcat}
		for _, r := range re.Rune {
			part := &syntax.Regexp{Op: syntax.OpLiteral, Flags: re.Flags, Rune: []rune{r}}
			if '0' <= r && r <= '9' {
				part = &syntax.Regexp{Op: syntax.OpCharClass, Rune: []rune{'0', '9'}}
			}
			out.Sub = append(out.Sub, part)
		}
		return &out
	case syntax.OpCharClass:
		for d := '0'; d <= '9'; d++ {
			if within(re.Rune, d) {
				out.Rune = append(slices.Clone(re.Rune), '0', '9')
				return &out
			}
		}
	}
	out.Sub = nil
	for _, sub := range re.Sub {
		out.Sub = append(out.Sub, widened(sub))
	}
	return &out
}
