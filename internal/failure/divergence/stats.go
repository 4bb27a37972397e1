package divergence

import (
	"math"

	"github.com/trainmedic/trainmedic/internal/run"
)

func values(pts []run.Point) []float64 {
	out := make([]float64, len(pts))
	for i, p := range pts {
		out[i] = p.Value
	}
	return out
}

// medians is the running median over a window of w (odd) points.
func medians(pts []run.Point, w int) []float64 {
	v := values(pts)
	out := make([]float64, len(v))
	for i := range v {
		lo, hi := max(0, i-w/2), min(len(v), i+w/2+1)
		out[i] = run.Median(v[lo:hi])
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
	return 1.4826 * run.Median(d)
}

// jitter is the noise of the points by what separates neighbours: where a window
// holds few of them, the running median follows the noise itself.
func jitter(pts []run.Point) float64 {
	if len(pts) < 3 {
		return 0
	}
	d := make([]float64, len(pts)-1)
	for i := range d {
		d[i] = math.Abs(pts[i+1].Value - pts[i].Value)
	}
	return 1.4826 / math.Sqrt2 * run.Median(d)
}
