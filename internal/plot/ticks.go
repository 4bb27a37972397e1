package plot

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// ticks are few and round, and short to read.
type ticks struct {
	log   bool
	blank bool // marks without labels: the axis is shared with the panel below
}

// Ticks implements plot.Ticker.
func (t ticks) Ticks(low, high float64) (out []plot.Tick) {
	for _, v := range t.values(low, high) {
		label := number(v)
		if t.blank {
			label = " "
		}
		out = append(out, plot.Tick{Value: v, Label: label})
	}
	return out
}

// values are at most some six places.
func (t ticks) values(low, high float64) (out []float64) {
	const most = 5
	if t.log {
		from, to := math.Ceil(math.Log10(low)-1e-9), math.Floor(math.Log10(high)+1e-9)
		step := max(1, math.Ceil((to-from)/most))
		for e := from; e <= to; e += step {
			out = append(out, math.Pow(10, e))
		}
		return out
	}
	step := round((high - low) / most)
	if step <= 0 || math.IsInf(step, 0) {
		return nil
	}
	for i := range 2*most + 1 {
		v := (math.Ceil(low/step-1e-9) + float64(i)) * step
		if v > high+step*1e-9 {
			break
		}
		if math.Abs(v) < step*1e-6 {
			v = 0
		}
		out = append(out, v)
	}
	return out
}

// round is the next of 1, 2 and 5 times a power of ten.
func round(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5} {
		if step <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// number writes a value of an axis: 0.0003, 3e-05, 12k, 1.5M.
func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 1e9 || a != 0 && a < 1e-3:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case a >= 1e6:
		return strconv.FormatFloat(v/1e6, 'g', 4, 64) + "M"
	case a >= 1e4:
		return strconv.FormatFloat(v/1e3, 'g', 4, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}
