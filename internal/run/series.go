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
	Name            string
	Count           int
	NonFinite       int
	First, Last     Point
	Min, Max        Point
	FirstNonFinite  *Point
	LastFinite      *Point // the finite value before the first non-finite one
	NonFiniteAtEnd  int    // length of the non-finite run at the very end
	Points          []Point
	stride, skipped int
	lastFinite      Point
	anyFinite       bool
}

const maxPoints = 4096

// Add appends one sample; steps need not be monotonic (a resume rewinds them).
func (s *Series) Add(p Point) {
	if s.Count == 0 {
		s.First, s.stride = p, 1
	}
	s.Count++
	s.Last = p
	if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
		s.NonFinite++
		s.NonFiniteAtEnd++
		if s.FirstNonFinite == nil {
			q := p
			s.FirstNonFinite = &q
			if s.anyFinite {
				l := s.lastFinite
				s.LastFinite = &l
			}
		}
	} else {
		s.NonFiniteAtEnd = 0
		if !s.anyFinite || p.Value < s.Min.Value {
			s.Min = p
		}
		if !s.anyFinite || p.Value > s.Max.Value {
			s.Max = p
		}
		s.anyFinite, s.lastFinite = true, p
	}
	s.keep(p)
}

func (s *Series) keep(p Point) {
	s.skipped++
	if s.skipped < s.stride {
		return
	}
	s.skipped = 0
	s.Points = append(s.Points, p)
	if len(s.Points) < maxPoints {
		return
	}
	half := s.Points[:0]
	for i := 0; i < len(s.Points); i += 2 {
		half = append(half, s.Points[i])
	}
	s.Points, s.stride = half, s.stride*2
}

// Finite reports whether any finite value was seen.
func (s *Series) Finite() bool { return s != nil && s.anyFinite }

// Values are the kept finite values in order.
func (s *Series) Values() []float64 {
	if s == nil {
		return nil
	}
	v := make([]float64, 0, len(s.Points))
	for _, p := range s.Points {
		if !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) {
			v = append(v, p.Value)
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
func (s *Series) Stride() int { return max(1, s.stride) }
