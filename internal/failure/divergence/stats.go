package divergence

import (
	"math"
	"slices"

	"github.com/trainmedic/trainmedic/internal/run"
)

func values(pts []run.Point) []float64 {
	out := make([]float64, len(pts))
	for i, p := range pts {
		out[i] = p.Value
	}
	return out
}

func median(v []float64) float64 {
	w := slices.Clone(v)
	slices.Sort(w)
	return w[len(w)/2]
}

// medians is the running median over a window of w (odd) points.
func medians(pts []run.Point, w int) []float64 {
	v := values(pts)
	out := make([]float64, len(v))
	for i := range v {
		lo, hi := max(0, i-w/2), min(len(v), i+w/2+1)
		out[i] = median(v[lo:hi])
	}
	return out
}

// spread is the robust standard deviation of the points around their running
// median.
func spread(pts []run.Point, smooth []float64) float64 {
	d := make([]float64, len(pts))
	for i, p := range pts {
		d[i] = math.Abs(p.Value - smooth[i])
	}
	return 1.4826 * median(d)
}

// trend is Kendall's tau of a thinned copy of the values against their order:
// 1 rises all the way, 0 goes nowhere, -1 falls.
func trend(v []float64) float64 {
	step := max(1, len(v)/200)
	var up, n float64
	for i := 0; i < len(v); i += step {
		for j := i + step; j < len(v); j += step {
			n++
			switch {
			case v[j] > v[i]:
				up++
			case v[j] < v[i]:
				up--
			}
		}
	}
	if n == 0 {
		return 0
	}
	return up / n
}
