package judge

import (
	"fmt"
	"math"
	"slices"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

const (
	explodes = 1000.0 // the skill's bound for a gradient norm
	farAbove = 20.0   // and how far above the run's own baseline it must lie
	halved   = 0.5    // the skill's bound for the throughput
)

// gradientExplosion judges the newest gradient norms against the run's own: one
// spike is clipped and forgotten, three in a row are an explosion.
func gradientExplosion(f *casefile.File) *report.Anomaly {
	s := f.Series("grad_norm")
	pts := kept(s)
	if len(pts) < 8 || nearEnd(s, pts) {
		return nil
	}
	last, before := pts[len(pts)-3:], pts[:len(pts)-3]
	base, now := middle(values(before)), values(last)
	if least := slices.Min(now); least < explodes || least < farAbove*base {
		return nil
	}
	p := last[0]
	a := &report.Anomaly{
		Type: report.AnomalyGradientExplosion, Severity: report.High, Class: report.Divergence, Ref: at(f, p.Ref, run.NoRank), Hold: 1,
		Description: fmt.Sprintf("The gradient norm is %s in the last steps; its baseline is %s.", report.Short(middle(now)), report.Short(base)),
		Fix:         "lower the learning rate or clip the gradients, from a checkpoint before this step",
	}
	if p.Step >= 0 {
		step := p.Step
		a.Step = &step
	}
	return a
}

// nearEnd reports whether the newest samples are not among the kept points.
func nearEnd(s *run.Series, pts []run.Point) bool {
	return s.Stride() > 1 && s.Last.Step-pts[len(pts)-1].Step > 3*max(1, pts[len(pts)-1].Step-pts[len(pts)-2].Step)
}

// slowThroughput judges the newest rates against the run's own baseline: those
// that the log states, else those of the looks.
func slowThroughput(f *casefile.File) *report.Anomaly {
	for _, name := range []string{"samples_per_second", "tokens_per_second", "steps_per_second"} {
		v := f.Series(name).Values()
		if len(v) < 12 {
			continue
		}
		if base, now, slow := slowed(v); slow {
			return slower(f, name, base, now)
		}
		return nil
	}
	v := f.Pulse.Rates()
	if base, now, slow := slowed(v); len(v) >= 12 && slow {
		return slower(f, "steps per second", base, now)
	}
	return nil
}

// window is how many rates are taken together: a look may see one step or two,
// and an evaluation stands between some.
const window = 5

// slowed compares the newest rates with those of the first half: the baseline.
func slowed(v []float64) (base, now float64, slow bool) {
	if len(v) < 12 {
		return 0, 0, false
	}
	last := v[len(v)-window:]
	base, now = middle(v[:len(v)/2]), mean(last)
	return base, now, base > 0 && now < halved*base && middle(last) <= halved*base
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

func slower(f *casefile.File, what string, base, now float64) *report.Anomaly {
	a := &report.Anomaly{
		Type: report.AnomalySlowThroughput, Severity: report.Medium, Class: report.Stalled, Hold: 1,
		Description: fmt.Sprintf("%s fell from %s to %s, by %.0f %%.", what, report.Short(base), report.Short(now), 100*(1-now/base)),
		Fix:         "look at what the run waits for: data loading (CPU, storage), another job on the machine, a throttled GPU",
	}
	if m := f.Main(); m != nil {
		a.Ref = at(f, m.LastRef, m.Rank)
	}
	return a
}

func kept(s *run.Series) []run.Point {
	if s == nil {
		return nil
	}
	out := make([]run.Point, 0, s.Kept())
	for _, p := range s.Points() {
		if !math.IsNaN(p.Value) && !math.IsInf(p.Value, 0) {
			out = append(out, p)
		}
	}
	return out
}

func values(pts []run.Point) []float64 {
	out := make([]float64, len(pts))
	for i, p := range pts {
		out[i] = p.Value
	}
	return out
}

func middle(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	return slices.Sorted(slices.Values(v))[len(v)/2]
}
