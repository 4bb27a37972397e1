package main

import (
	"fmt"
	"math"
)

// interval is where the true share lies with 95 % confidence: the exact interval
// of Clopper and Pearson, which is never too narrow.
func (s share) interval() (low, high float64) {
	if s.asked == 0 {
		return 0, 1
	}
	low, high = 0, 1
	if s.right > 0 {
		low = root(func(p float64) bool { return 1-atMost(s.right-1, s.asked, p) >= 0.025 })
	}
	if s.right < s.asked {
		high = root(func(p float64) bool { return atMost(s.right, s.asked, p) <= 0.025 })
	}
	return low, high
}

// within is the share with its interval.
func (s share) within() string {
	if s.asked == 0 {
		return "–"
	}
	low, high := s.interval()
	return fmt.Sprintf("%d of %d: %.1f %% (%.1f to %.1f)", s.right, s.asked, 100*float64(s.right)/float64(s.asked), 100*low, 100*high)
}

// root is the least p at which something that holds from there on does.
func root(holds func(p float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if mid := (low + high) / 2; holds(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

// atMost is the chance of at most k of n where each has the chance p.
func atMost(k, n int, p float64) float64 {
	if p <= 0 {
		return 1
	}
	if p >= 1 {
		return 0
	}
	lgamma := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	var sum float64
	for i := range k + 1 {
		sum += math.Exp(lgamma(n) - lgamma(i) - lgamma(n-i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(1, sum)
}
