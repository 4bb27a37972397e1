package plot

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

// A spike is told from noise by its neighbours on both sides: it stands far above
// their median, measured by their own spread, and they lie low again behind it.
const (
	beside    = 15  // neighbours on each side
	leastNear = 4   // of them before it: a run begins high
	aboveMAD  = 10  // times their median absolute deviation
	aboveHigh = 4   // times how far the highest tenth of them lies above their median
	aboveMid  = 1.5 // times their median
	maxSpikes = 5   // marked in one line, the highest first
)

// spikes lists the spikes of a piece in order, where up is bad: for a loss, a
// perplexity or a gradient norm.
func (l Line) spikes(piece []xy) []xy {
	if !strings.Contains(l.Name, "loss") && !strings.Contains(l.Name, "grad") && !strings.Contains(l.Name, "perplexity") || l.Name == "loss_scale" {
		return nil
	}
	var out []xy
	var by []float64
	for i, p := range piece {
		left, right := piece[max(0, i-beside):i], piece[i+1:min(len(piece), i+1+beside)]
		if len(left) < leastNear || len(right) < leastNear/2 {
			continue
		}
		if higher := func(o xy) bool { return o.Y > p.Y }; slices.ContainsFunc(left, higher) || slices.ContainsFunc(right, higher) {
			continue
		}
		var off, over []float64
		mid := math.Inf(-1)
		for _, side := range [][]xy{left, right} { // each by itself: the curve may fall
			m := median(side)
			mid = max(mid, m)
			for _, o := range side {
				off, over = append(off, math.Abs(o.Y-m)), append(over, o.Y-m)
			}
		}
		slices.Sort(over)
		if p.Y-mid > max(aboveMAD*run.Median(off), aboveHigh*over[len(over)*9/10], (aboveMid-1)*math.Abs(mid)) {
			out, by = append(out, p), append(by, (p.Y-mid)/max(math.Abs(mid), 1e-100))
		}
	}
	if len(out) > maxSpikes {
		limit := slices.SortedFunc(slices.Values(by), func(a, b float64) int { return cmp.Compare(b, a) })[maxSpikes-1]
		kept := out[:0]
		for i, p := range out {
			if by[i] >= limit && len(kept) < maxSpikes {
				kept = append(kept, p)
			}
		}
		out = kept
	}
	return out
}

func median(part []xy) float64 {
	v := make([]float64, len(part))
	for i, p := range part {
		v[i] = p.Y
	}
	return run.Median(v)
}

// samples are the kept samples of a series with its exact extremes, which
// thinning may have dropped, where the order of steps gives them a place.
func samples(s *run.Series) []run.Point {
	points := s.Points()
	byStep := func(a, b run.Point) int { return cmp.Compare(a.Step, b.Step) }
	if s.Stride() == 1 || !slices.IsSortedFunc(points, byStep) {
		return points
	}
	extremes := []run.Point{s.Min, s.Max}
	if s.FirstNonFinite != nil {
		extremes = append(extremes, *s.FirstNonFinite)
	}
	for _, p := range extremes {
		if i, there := slices.BinarySearchFunc(points, p, byStep); !there && p.Step >= 0 {
			points = slices.Insert(points, i, p)
		}
	}
	return points
}
