package run

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestASeriesKeepsItsPointsWhatTheyAre(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for name, odd := range map[string]Point{
		"all fit":        {Step: -1, Value: 2, Ref: Ref{"a.log", 1, 0}},
		"another file":   {Step: 3, Value: 2, Ref: Ref{"b.log", 7, 9}},
		"a huge step":    {Step: math.MaxInt64, Value: 2, Ref: Ref{"a.log", 7, 9}},
		"a step below":   {Step: -5, Value: 2, Ref: Ref{"a.log", 7, 9}},
		"a far line":     {Step: 3, Value: 2, Ref: Ref{"a.log", 1 << 40, 9}},
		"a far offset":   {Step: 3, Value: 2, Ref: Ref{"a.log", 7, 1 << 50}},
		"not a number":   {Step: 3, Value: math.Inf(1), Ref: Ref{"a.log", 7, 9}},
		"the last place": {Step: 1<<47 - 2, Value: 2, Ref: Ref{"a.log", 1<<36 - 1, 1<<44 - 1}},
	} {
		t.Run(name, func(t *testing.T) {
			var s Series
			var want []Point
			stride, skipped := 1, 0
			for i := range 3*maxPoints + 77 {
				p := Point{Step: int64(i), Value: r.Float64(), Ref: Ref{"a.log", i + 1, int64(i) * 131}}
				if i == maxPoints+maxPoints/2 || i == 2*maxPoints {
					p = odd
				}
				s.Add(p)
				if skipped++; skipped < stride {
					continue
				}
				skipped = 0
				if want = append(want, p); len(want) == maxPoints {
					half := want[:0]
					for i := 0; i < len(want); i += 2 {
						half = append(half, want[i])
					}
					want, stride = half, stride*2
				}
			}
			if got := s.Points(); !slices.Equal(want, got) || s.Kept() != len(want) || s.Point(5) != want[5] {
				t.Errorf("want %d points, got %d, or others", len(want), len(got))
			}
		})
	}
}
