package casefile

import (
	"slices"
	"time"
)

// Pace is how fast a run goes, in steps per second: the recent rate with its
// pauses, and what nine of ten stretches reach or stay below.
type Pace struct{ Rate, Slow, Fast float64 }

const (
	recentBeats = 12 // looks that the present pace is taken from
	stretch     = 3  // looks of one stretch
)

// Pace is the run's recent pace; false when nothing tells it. A restart begins
// a new one.
func (f *File) Pace() (Pace, bool) {
	b := f.Pulse.Beats
	b = b[max(0, len(b)-recentBeats):]
	if len(b) >= 3 {
		if p, ok := paceOf(b); ok {
			return p, true
		}
	}
	if v := f.Series("steps_per_second").Values(); len(v) > 0 {
		v = slices.Sorted(slices.Values(v[len(v)-min(len(v), 50):]))
		at := func(q float64) float64 { return v[int(q*float64(len(v)-1)+0.5)] }
		return Pace{at(.5), at(.1), at(.9)}, at(.1) > 0
	}
	m := f.Main()
	if m == nil || m.Gaps.Typical() <= 0 {
		return Pace{}, false
	}
	rate := m.Stride() / m.Gaps.Typical().Seconds()
	return Pace{rate, rate / 1.5, rate * 1.25}, rate > 0
}

func paceOf(b []Beat) (Pace, bool) {
	first, last := b[0], b[len(b)-1]
	rate, ok := rateOf(first, last)
	if !ok {
		return Pace{}, false
	}
	rates := []float64{}
	for i := 1; i < len(b); i++ {
		if r, ok := rateOf(b[max(0, i-stretch)], b[i]); ok {
			rates = append(rates, r)
		}
	}
	slices.Sort(rates)
	n := len(rates)
	if n == 0 {
		return Pace{rate, rate, rate}, true
	}
	return Pace{rate, min(rate, rates[n/10]), max(rate, rates[n-1-n/10])}, true
}

func rateOf(a, b Beat) (float64, bool) {
	d, n := b.At.Sub(a.At), b.Step-a.Step
	if d <= 0 || n <= 0 {
		return 0, false
	}
	return float64(n) / d.Seconds(), true
}

// Stride is how many steps lie between two lines of progress, 1 when unknown.
func (r *RankReader) Stride() float64 {
	s := r.Series["loss"]
	if s == nil || s.Kept() < 2 {
		return 1
	}
	n := s.Kept()
	return max(1, float64(s.Point(n-1).Step-s.Point(n-2).Step)/float64(s.Stride()))
}

// Rates are the paces between looks, oldest first.
func (p *Pulse) Rates() []float64 {
	var out []float64
	for i := 1; i < len(p.Beats); i++ {
		if r, ok := rateOf(p.Beats[i-1], p.Beats[i]); ok {
			out = append(out, r)
		}
	}
	return out
}

// Left is how long the remaining steps take, with bounds; false when that cannot
// be told.
func (f *File) Left() (likely, low, high time.Duration, ok bool) {
	m := f.Main()
	pace, known := f.Pace()
	if m == nil || !known || pace.Slow <= 0 {
		return 0, 0, 0, false
	}
	g := m.Progress()
	if g.Total <= 0 || g.Step < 0 || g.Step >= g.Total {
		return 0, 0, 0, false
	}
	n := float64(g.Total - g.Step)
	sec := func(rate float64) time.Duration { return time.Duration(min(n/rate, 1e8) * float64(time.Second)) }
	return sec(pace.Rate), sec(pace.Fast), sec(pace.Slow), true
}
