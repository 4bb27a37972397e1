package casefile

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// What the memo remembers MUST be what the regexp says of the line at hand.
func TestTheMemoSaysWhatTheRegexpSays(t *testing.T) {
	signs := []struct {
		literals []string
		regexp   string
		lines    []string
	}{
		{[]string{"out of memory"}, `out of memory. Tried (\d+\.\d\d) MiB`, []string{"out of memory. Tried 20.00 MiB", "out of memory. Tried 7 MiB"}},
		{[]string{"Errno 28", "No space"}, `\[Errno 28\] No space (?P<n>\d)?`, []string{"[Errno 28] No space 4", "[Errno 17] No space", "[Errno 2] none"}},
		{[]string{"signal "}, `(?i)signal (?:11|7|8|4)\b|code 13[569]\b`, []string{"Signal 11", "signal 17, code 135", "signal 7 code 139 at 17:44:11"}},
		{[]string{"nan iterations", "acc 0.8"}, `(nan iterations: +[1-9]\d*|acc \d+)`, []string{"nan iterations:   0", "nan iterations:  10 | acc 0.81", "acc 0.81"}},
		{[]string{"exit"}, `exit [^0-5]`, []string{"exit 3", "exit 7", "exit x4"}},
		{[]string{"rank"}, `^rank [02468]{2,3}: (\w+)$`, []string{"rank 123: lost", "rank 24: lost6", "rank 2: lost"}},
		{[]string{"acc 0.8"}, `acc (\d\.\d+)`, []string{"acc 0.81 of 1", "acc 0.79 of 2"}},
	}
	r := rand.New(rand.NewPCG(1, 2))
	matched := 0
	for _, c := range signs {
		s := &Sign{ID: c.regexp, Literals: c.literals, Regexp: NewPattern(c.regexp)}
		m := newMemo()
		for order := range 3000 {
			line := []byte(c.lines[r.IntN(len(c.lines))])
			for i, b := range line {
				if '0' <= b && b <= '9' && r.IntN(3) > 0 {
					line[i] = byte('0' + r.IntN(10))
				}
			}
			wantLoc, want := s.find(line)
			gotLoc, got := m.match(s, line, order+1)
			if got != want || !slices.Equal(gotLoc, wantLoc) {
				t.Fatalf("%s on %q: want %v %v, got %v %v", c.regexp, line, wantLoc, want, gotLoc, got)
			}
			if want {
				matched++
			}
		}
		if k := m.signs[s]; len(k.verdicts) > 12 {
			t.Errorf("%s: want few kinds of lines, got %d", c.regexp, len(k.verdicts))
		}
	}
	if matched < 3000 {
		t.Errorf("want lines that match and lines that do not, got %d that do", matched)
	}
}
