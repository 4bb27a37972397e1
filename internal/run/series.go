package run

import "math"

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
	NonFiniteAtEnd  int // length of the non-finite run at the very end
	stride, skipped int32
	low, high       float64 // Min.Value and Max.Value
	Last            Point
	Points          []Point
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
		s.keep(p)
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

func (s *Series) keep(p Point) {
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
func (s *Series) Finite() bool { return s != nil && s.Count > s.NonFinite }

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
