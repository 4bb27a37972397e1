package run

import (
	"math"
	"slices"
)

// Point is one kept sample of a series.
type Point struct {
	Step  int64
	Value float64
	Ref   Ref
}

// Series is the bounded history of one metric: exact first, last, minimum,
// maximum, counts and every early non-finite value, and a shape of at most
// maxPoints evenly thinned samples.
type Series struct {
	// What each sample touches stands first.
	Name            string
	Count           int
	NonFinite       int
	NonFiniteAtEnd  int   // length of the non-finite run at the very end
	Most            int32 // points to keep at most; 0 for the usual
	stride, skipped int32
	low, high       float64 // Min.Value and Max.Value
	Last            Point
	points          kept
	First           Point
	Min, Max        Point
	FirstNonFinite  *Point
	LastFinite      *Point // the finite value before the first non-finite one
}

const maxPoints = 4096

// Add appends one sample; steps need not be monotonic (a resume rewinds them).
func (s *Series) Add(p Point) {
	if s.Count == 0 {
		s.First, s.stride = p, 1
	}
	if p.Value-p.Value != 0 {
		s.lose(p)
	} else {
		if s.Count == s.NonFinite {
			s.Min, s.Max, s.low, s.high = p, p, p.Value, p.Value
		} else if p.Value < s.low {
			s.Min, s.low = p, p.Value
		} else if p.Value > s.high {
			s.Max, s.high = p, p.Value
		}
		s.NonFiniteAtEnd = 0
	}
	s.Count++
	s.Last = p
	if s.skipped++; s.skipped >= s.stride {
		s.keep(&p)
	}
}

// lose takes a value that is not finite.
func (s *Series) lose(p Point) {
	if s.NonFinite++; s.NonFinite == 1 {
		first := p
		s.FirstNonFinite = &first
		if s.Count > 0 { // all before it were finite
			last := s.Last
			s.LastFinite = &last
		}
	}
	s.NonFiniteAtEnd++
}

func (s *Series) keep(p *Point) {
	s.skipped = 0
	most := maxPoints
	if s.Most > 0 {
		most = int(s.Most)
	}
	if s.points.add(p); s.points.len() == most {
		s.points.halve()
		s.stride *= 2
	}
}

// Points lists the kept samples, in order.
func (s *Series) Points() []Point { return slices.Clip(s.points.all()) }

// Kept is how many samples are kept.
func (s *Series) Kept() int { return s.points.len() }

// Point is the kept sample i, counted from 0.
func (s *Series) Point(i int) Point { return s.points.at(i) }

// Finite reports whether any finite value was seen.
func (s *Series) Finite() bool { return s != nil && s.Count > s.NonFinite }

// Values are the kept finite values in order.
func (s *Series) Values() []float64 {
	if s == nil {
		return nil
	}
	v := make([]float64, 0, s.Kept())
	for i := range s.Kept() {
		if x := s.Point(i).Value; !math.IsNaN(x) && !math.IsInf(x, 0) {
			v = append(v, x)
		}
	}
	return v
}

// Trend is Kendall's tau of values against their order: 1 rises all the way, 0
// goes nowhere, -1 falls. Of many values a thinned copy is judged.
func Trend(v []float64) float64 {
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

// Median is the middle value, the upper one of two; 0 of none.
func Median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	w := slices.Clone(v)
	slices.Sort(w)
	return w[len(w)/2]
}

// Stride is how many samples each kept point stands for.
func (s *Series) Stride() int { return max(1, int(s.stride)) }
