package main

import (
	"slices"
	"time"
)

func (r row) wall() time.Duration {
	return median(r.Samples, func(s sample) time.Duration { return s.Wall })
}

func (r row) cpu() time.Duration {
	return median(r.Samples, func(s sample) time.Duration { return s.CPU })
}

func (r row) span() (least, most time.Duration) {
	by := func(a, b sample) int { return int(a.Wall - b.Wall) }
	return slices.MinFunc(r.Samples, by).Wall, slices.MaxFunc(r.Samples, by).Wall
}

// peak is the largest of all rounds: what a machine must have.
func (r row) peak() int64 {
	return slices.MaxFunc(r.Samples, func(a, b sample) int { return int(a.Peak - b.Peak) }).Peak
}

// speed is bytes a second.
func (r row) speed() float64 { return float64(r.Bytes) / r.wall().Seconds() }

func median(samples []sample, of func(sample) time.Duration) time.Duration {
	var v []time.Duration
	for _, s := range samples {
		v = append(v, of(s))
	}
	slices.Sort(v)
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

// row finds a row; nil if there is none.
func (t *table) row(name string) *row {
	if t == nil {
		return nil
	}
	for i := range t.Rows {
		if t.Rows[i].Name == name {
			return &t.Rows[i]
		}
	}
	return nil
}

// faster is how many times the throughput of another row this one has; 0 if either was not run.
func (t *table) faster(name, than string) float64 {
	a, b := t.row(name), t.row(than)
	if a == nil || b == nil {
		return 0
	}
	return a.speed() / b.speed()
}
