package divergence

import (
	"fmt"
	"math"
	"strconv"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// lossNeverMoves finds a loss that stands at the logarithm of a power of two or
// ten from the first value to the last: the output is uniform and stays so.
func lossNeverMoves(f *casefile.File) []failure.Sighting {
	s := f.Series("loss")
	if !s.Finite() || s.Kept() < 40 || s.NonFinite > 0 || objectiveChanges(f) {
		return nil
	}
	if m := f.Main(); m != nil && m.LastStep >= 0 && m.LastStep < 1000 && m.Progress().Epoch < 1 {
		return nil // many a training stands still so long
	}
	v := s.Values()
	head, tail := run.Median(v[:len(v)/10]), run.Median(v[len(v)-len(v)/10:])
	smooth := medians(s.Points(), 5)
	if head < 0.5 || math.Abs(head-tail) > 0.002*head || spread(s.Points(), smooth) > 0.002*head || !uniform(head) {
		return nil
	}
	return found(f, s.First, 0.68, "collapsed", report.Degraded, fmt.Sprintf("The loss stands at %.4f = ln(%.0f) from the first value to the last: the output is uniform and nothing is learnt.", head, math.Exp(head)), s.Last.Ref)
}

// uniform reports whether a loss is the logarithm of a power of two or ten.
func uniform(loss float64) bool {
	for _, base := range []float64{2, 10} {
		k := loss / math.Log(base)
		if math.Round(k) >= 1 && math.Abs(k-math.Round(k)) < 0.004 {
			return true
		}
	}
	return false
}

// fidExplodes needs three evaluations and a distance that ended four times above
// its best, after it had been there.
func fidExplodes(f *casefile.File) []failure.Sighting {
	best, at, n := math.Inf(1), 0, 0
	events := f.EventsOf("fid-line")
	var last float64
	var worst *casefile.Event
	for i, e := range events {
		v, err := strconv.ParseFloat(e.Groups["value"], 64)
		if err != nil || v <= 0 {
			continue
		}
		n++
		last = v
		worst = e
		if v < best {
			best, at = v, i
		}
	}
	if n < 3 || at == len(events)-1 || last < 4*best || last < 50 {
		return nil
	}
	return []failure.Sighting{{
		Type: report.AnomalyDivergence, Severity: report.High, Role: report.RoleCause, Weight: 0.68, Cause: "too-hot", Rank: run.NoRank, Step: worst.Step, Ref: worst.Ref, Text: worst.Text,
		Also: []run.Ref{events[at].Ref}, Status: report.Diverged, Says: fmt.Sprintf("The Fréchet distance fell to %.4g and rose to %.4g.", best, last),
	}}
}

// rewardCollapse finds a reward that had grown and then fell back to where it
// began or below, for the last fifth of the run.
func rewardCollapse(f *casefile.File) []failure.Sighting {
	s := firstOf(f, "reward", "rewards", "ep_rew_mean", "rollout/ep_rew_mean", "episode_reward_mean", "mean_reward", "critic/rewards/mean", "episodic_return")
	if s == nil || s.Kept() < 40 || !s.Finite() {
		return nil
	}
	smooth := medians(s.Points(), max(3, s.Kept()/20|1))
	best, at := math.Inf(-1), 0
	for i, v := range smooth {
		if v > best {
			best, at = v, i
		}
	}
	first := run.Median(smooth[:3])
	tail := smooth[len(smooth)-len(smooth)/5:]
	gained := best - first
	if gained <= 0 || gained < 6*spread(s.Points(), smooth) || at < len(smooth)/10 || at > len(smooth)*4/5 {
		return nil
	}
	for _, v := range tail {
		if v > first+0.15*gained {
			return nil
		}
	}
	p := s.Point(min(s.Kept()-1, onset(negated(smooth), at, -best, 0.1*gained)))
	return found(f, p, 0.7, "policy-drift", report.Diverged, fmt.Sprintf("%s grew from %.4g to %.4g, then fell to %.4g and stayed there.", run.Name(s.Name), first, best, run.Median(tail)), s.Last.Ref)
}

func negated(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		out[i] = -x
	}
	return out
}
