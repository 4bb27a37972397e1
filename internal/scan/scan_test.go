package scan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// plain finds every literal at every offset, ASCII case folded as the filter does.
func plain(lits [][]string, b []byte) []string {
	var out []string
	low := foldString(string(b))
	for id, any := range lits {
		for _, l := range any {
			l = foldString(l)
			for at := 0; at+len(l) <= len(low); at++ {
				if low[at:at+len(l)] == l {
					out = append(out, fmt.Sprint(id, "@", at))
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func found(t *testing.T, lits [][]string, b []byte) []string {
	t.Helper()
	s, err := Compile(lits)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, h := range s.Block(b, nil) {
		out = append(out, fmt.Sprint(h.Pattern, "@", h.At))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

var literals = [][]string{{"CUDA out of memory", "out of memory"}, {"Traceback (most"}, {"abcdefg"}, {"Killed\n"}, {"NCCL WARN"}}

func TestBlockFindsWhatAPlainLoopFinds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		var b strings.Builder
		for range r.IntN(40) {
			switch r.IntN(3) {
			case 0:
				l := literals[r.IntN(len(literals))]
				s := l[r.IntN(len(l))]
				if r.IntN(3) == 0 {
					s = strings.ToUpper(s)
				}
				b.WriteString(s)
			default:
				b.WriteString(string(rune('a' + r.IntN(26))))
			}
		}
		in := []byte(b.String())
		if want, got := plain(literals, in), found(t, literals, in); !slices.Equal(want, got) {
			t.Fatalf("%q:\nwant %v\ngot  %v", in, want, got)
		}
	}
}

func TestCompileRefusesShortLiterals(t *testing.T) {
	if _, err := Compile([][]string{{"short"}}); err == nil {
		t.Error("a literal of 5 bytes was taken")
	}
}

func FuzzBlock(f *testing.F) {
	f.Add("x CUDA out of memory y", "Traceback (most recent call last)")
	f.Fuzz(func(t *testing.T, text, lit string) {
		lits := literals
		if len(lit) >= MinLiteral && len(lit) < 100 {
			lits = append(slices.Clone(literals), []string{lit})
		}
		if want, got := plain(lits, []byte(text)), found(t, lits, []byte(text)); !slices.Equal(want, got) {
			t.Fatalf("want %v\ngot  %v", want, got)
		}
	})
}

func BenchmarkBlock(b *testing.B) {
	s, err := Compile(literals)
	if err != nil {
		b.Fatal(err)
	}
	line := "2026-01-01 10:00:00 INFO step=1200 loss=0.3421 lr=1e-4 grad_norm=0.81 tokens_per_second=14231\n"
	text := []byte(strings.Repeat(line, 256<<10/len(line)))
	b.SetBytes(int64(len(text)))
	var hits []Hit
	for b.Loop() {
		hits = s.Block(text, hits[:0])
	}
}
