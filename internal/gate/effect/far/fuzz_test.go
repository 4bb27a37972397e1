package far

import (
	"slices"
	"strings"
	"testing"
)

func FuzzParse(f *testing.F) {
	f.Add("12 (a) b) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 99 0\n")
	f.Add("12 (python\n")
	f.Add(") (")
	f.Fuzz(func(t *testing.T, text string) {
		var all []Process
		for line := range strings.Lines(text) {
			if p, ok := parse(line); ok {
				if p.PID <= 0 || strings.Trim(p.Start, "0123456789") != "" {
					t.Errorf("%q gives %+v", line, p)
				}
				all = append(all, p)
			}
		}
		for _, p := range all {
			if got := family(all, p, p.Group); len(got) > maxFamily || len(got) > 0 && got[0].PID != p.PID {
				t.Errorf("the family of %d is %+v", p.PID, got)
			}
		}
	})
}

func TestFamily(t *testing.T) {
	all := []Process{{PID: 2, Parent: 1, Group: 2, Start: "5"}, {PID: 3, Parent: 2, Group: 3, Start: "6"}, {PID: 4, Parent: 1, Group: 2, Start: "7"}, {PID: 5, Parent: 4, Group: 5, Start: "8"}, {PID: 6, Parent: 1, Group: 6, Start: "9"}}
	for group, want := range map[int][]int{0: {2, 3}, 2: {2, 3, 4, 5}} {
		var got []int
		for _, p := range family(all, all[0], group) {
			got = append(got, p.PID)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("group %d: %v, want %v", group, got, want)
		}
	}
	if got := family(all, Process{PID: 2, Start: "4"}, 0); len(got) > 0 {
		t.Errorf("a PID that was used again: %+v", got)
	}
}
