package divergence

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var detectors = []failure.Detector{
	{Name: "loss-blow-up", Doc: "The training loss rose far above its best level and stayed there, beyond its own noise.", Run: lossBlowUp},
	{Name: "loss-explosion", Doc: "A loss grew by orders of magnitude to the end, or until it became non-finite.", Run: lossExplosion},
	{Name: "weights-destroyed", Doc: "The evaluation loss exploded on the way and both losses ended worse than they began.", Run: weightsDestroyed},
	{Name: "reward-collapse", Doc: "A reward that had grown fell back to where it began and stayed there.", Run: rewardCollapse},
	{Name: "parts-blow-up", Doc: "Several parts of a loss left their best level together.", Run: partsBlowUp},
	{Name: "preference-collapse", Doc: "In preference tuning the chosen answers' reward fell by orders of magnitude.", Run: preferenceCollapse},
	{Name: "quality-lost", Doc: "PSNR fell decibels below its best and stayed there.", Run: qualityLost},
	{Name: "loss-never-moves", Doc: "The loss stands still at its first value: nothing is learnt.", Run: lossNeverMoves},
	{Name: "predicts-uniform", Doc: "Accuracy and loss are those of uniform guesses, though the model had been better or was trained for long.", Run: predictsUniform},
	{Name: "learning-undone", Doc: "The loss had fallen, rose back to where it began and stands there.", Run: learningUndone},
	{Name: "posterior-collapse", Doc: "The divergence of a variational autoencoder fell to nothing: its latent code is not used.", Run: posteriorCollapse},
	{Name: "same-score-always", Doc: "An evaluation score is the same number each time and the loss stands still.", Run: sameScore},
	{Name: "perplexity-absurd", Doc: "The perplexity lies beyond any vocabulary and does not come down.", Run: perplexityAbsurd},
	{Name: "reward-falls", Doc: "A reward goes down all the way, far beyond the spread of its early values.", Run: rewardFalls},
	{Name: "fid-explodes", Doc: "The Fréchet distance of a generator multiplied and stayed high.", Run: fidExplodes},
	{Name: "start-off-expectation", Doc: "With --task: the first loss is not what a model that knows nothing should have.", Run: offExpectation},
	{Name: "policy-collapse", Doc: "In reinforcement learning: the KL divergence exploded or went far below zero, and the reward is gone.", Run: policyCollapse},
}

// found is a divergence that a point of a series proves; also are further lines of
// the proof.
func found(f *casefile.File, p run.Point, weight float64, cause string, status report.RunStatus, says string, also ...run.Ref) []failure.Sighting {
	return []failure.Sighting{{
		Type: report.AnomalyDivergence, Severity: report.High, Role: report.RoleCause, Weight: weight, Cause: cause, Rank: run.NoRank,
		Step: p.Step, Ref: p.Ref, Text: f.TextAt(p.Ref), Also: also, Status: status, Says: says,
	}}
}

const (
	minPoints   = 12  // fewer values say nothing of a trend
	riseOver    = 1.4 // how far above its best level the end must lie
	noiseOver   = 6.0 // and how many times its own noise
	neverFell   = 5.0 // how far a loss must rise that never fell
	roseClearly = 2.2 // or this far, at the scale of a real loss and to stay
	recovers    = 0.6 // a loss that came back below this share of the rise is healing
)

// lossBlowUp judges the main loss against its own noise: warm-up, spikes that
// come down, and restarts do not count.
func lossBlowUp(f *casefile.File) []failure.Sighting {
	for _, name := range []string{"loss", "eval_loss"} {
		s := f.Series(name)
		pts := sinceRewind(s)
		if len(pts) < minPoints || !slices.ContainsFunc(pts, positive) || objectiveChanges(f) {
			continue
		}
		v := rise(pts, f.Value("run.resumed") == "true")
		if v == nil {
			continue
		}
		if name == "eval_loss" && f.Series("loss") != nil && f.Series("loss").Count >= minPoints {
			continue // training goes well: that is over-fitting or a bad evaluation
		}
		return found(f, v.onset, v.weight, "too-hot", report.Diverged, fmt.Sprintf("%s rose from %.4g (step %d) to %.4g (step %d) and did not come down: %.1f times its own noise.", name, v.best, v.onset.Step, v.end, v.last.Step, v.noises), v.there.Ref, v.last.Ref)
	}
	return nil
}

// objectiveChanges reports whether the run's loss is not one fixed quantity: a
// weight of one of its terms is annealed, or two networks play against each
// other. Then a rise is not a divergence; only an explosion is.
func objectiveChanges(f *casefile.File) bool {
	for _, s := range f.AllSeries() {
		n := strings.ToLower(s.Name)
		switch {
		case n == "beta" || n == "kl_weight" || n == "kl_coef" || n == "annealing" || strings.HasSuffix(n, "_weight") || strings.HasSuffix(n, "_coef"):
			if s.Finite() && s.Count > 2 && s.Max.Value > s.Min.Value {
				return true
			}
		case strings.Contains(n, "rew") || strings.Contains(n, "episode") || n == "ep_len_mean" || n == "td_loss", n == "d_loss", n == "g_loss", n == "loss_d", n == "loss_g", n == "errd", n == "errg", n == "d_a", n == "g_a":
			return true
		}
	}
	return false
}

func positive(p run.Point) bool { return p.Value > 0 }

// sinceRewind are the finite points since the step last went back: a restart or
// another run in the same log begins a new history. Steps that are reckoned from
// a rounded fraction of an epoch may go back by less than two readings.
func sinceRewind(s *run.Series) []run.Point {
	if s == nil {
		return nil
	}
	pts := s.Points()
	out := make([]run.Point, 0, len(pts))
	for _, p := range pts {
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
			continue
		}
		if n := len(out); n > 0 && p.Step >= 0 && p.Step < out[n-1].Step {
			stride := float64(out[n-1].Step-out[0].Step) / float64(n)
			if float64(out[n-1].Step-p.Step) > 2*stride {
				out = out[:0]
			}
		}
		out = append(out, p)
	}
	return out
}

type climb struct {
	best, end, noises, weight float64
	onset, last               run.Point
	there                     run.Point // where it first reached the level of the end
}

// rise is how the series left its best level, or nil when it did not. After a
// resume the first value is a level that was reached before.
func rise(pts []run.Point, resumed bool) *climb {
	if len(pts) < minPoints {
		return nil
	}
	smooth := medians(pts, max(3, min(25, len(pts)/30)|1))
	lo := 0
	for i, v := range smooth {
		if v < smooth[lo] {
			lo = i
		}
	}
	after := len(smooth) - lo
	end := run.Median(smooth[len(smooth)-max(2, len(smooth)/20):])
	best := smooth[lo]
	if best <= 0 || after < max(5, len(smooth)/10) {
		return nil
	}
	noise := max(spread(pts, smooth), jitter(pts))
	top := slices.Max(smooth[lo:])
	first := run.Median(smooth[:max(1, min(3, lo))])
	begun := best // a pre-trained model's very first loss may be its best
	if lo < 3 {
		begun = min(best, pts[0].Value)
	}
	switch {
	case (lo < 2 || first < 1.1*best) && !resumed && (end < neverFell*best && !(first >= 1.5 && end > roseClearly*begun && end-begun > 3 && sustained(smooth, onset(smooth, lo, best, noise), best+recovers*(end-best)))):
		// it never fell: a loss that begins at its floor (RL, annealed terms, a growing queue) may rise
		return nil
	case end < riseOver*best, end-best < noiseOver*noise, end-best < recovers*(top-best):
		return nil
	case first > best && end-best < 0.12*(first-best): // a small part of what was learnt
		return nil
	case run.Trend(smooth[lo:]) < 0.5 && !sustained(smooth, onset(smooth, lo, best, noise), best+recovers*(end-best)):
		return nil
	}
	c := &climb{best: best, end: end, last: pts[len(pts)-1], weight: 0.7}
	from := onset(smooth, lo, best, noise)
	c.onset, c.there = pts[from], c.last
	for i := from; i < len(pts); i++ {
		if smooth[i] >= best+0.9*(end-best) {
			c.there = pts[i]
			break
		}
	}
	c.noises = (end - best) / math.Max(noise, 1e-12)
	if end > 2*best {
		c.weight = 0.82
	}
	return c
}

// sustained reports whether nearly all of what follows the onset stays above a
// level: the loss jumped and never came back.
func sustained(smooth []float64, from int, level float64) bool {
	above, n := 0, len(smooth)-from
	for _, v := range smooth[from:] {
		if v >= level {
			above++
		}
	}
	return n >= max(5, len(smooth)/10) && float64(above) >= 0.8*float64(n)
}

// onset is where the series left its best level for good.
func onset(smooth []float64, lo int, best, noise float64) int {
	at := lo
	for i := lo; i < len(smooth); i++ {
		if smooth[i] <= best+2*noise {
			at = i
		}
	}
	return at
}

// lossExplosion finds growth by orders of magnitude, also of a critic's or a
// single head's loss, and a blow-up that ended in NaN.
func lossExplosion(f *casefile.File) []failure.Sighting {
	for _, s := range f.AllSeries() {
		if !isLoss(s.Name) || !s.Finite() {
			continue
		}
		pts := sinceRewind(s.Series)
		if v := exploded(s.Series, pts); v != nil {
			return []failure.Sighting{{
				Type: report.AnomalyDivergence, Severity: report.Blocker, Role: report.RoleCause, Weight: v.weight, Cause: "too-hot", Rank: s.Rank,
				Step: v.last.Step, Onset: v.onset.Step, Ref: v.last.Ref, Text: f.TextAt(v.last.Ref), Also: []run.Ref{v.onset.Ref}, Status: report.Diverged,
				Says: fmt.Sprintf("%s grew from %.4g to %.4g.", run.Name(s.Name), v.best, v.end),
			}}
		}
	}
	return nil
}

func exploded(s *run.Series, pts []run.Point) *climb {
	if len(pts) < 3 {
		return nil
	}
	base := math.Inf(1)
	at := 0
	for i, p := range pts {
		if m := math.Abs(p.Value); m < base && m > 0 && i < len(pts)-2 {
			base, at = m, i
		}
	}
	lowest, n := at, min(3, len(pts)-at)
	end := math.Abs(run.Median(values(pts[len(pts)-n:])))
	lost := s.NonFiniteAtEnd > 0
	factor := end / math.Max(base, 1e-3)
	for i := at; i < len(pts); i++ { // where it left the order of its best values for good
		if math.Abs(pts[i].Value) <= 10*math.Max(base, 1e-3) {
			at = i
		}
	}
	c := &climb{best: base, end: end, onset: pts[at], last: pts[len(pts)-1], weight: 0.84}
	switch {
	case factor > 1e4 && end > 1e3 && (lost || run.Trend(values(pts[lowest:])) > 0.4):
		return c
	case headlong(values(pts)):
		c.end = math.Abs(c.last.Value)
		return c
	case lost && factor > 50 && end > 100 && run.Trend(values(pts[lowest:])) > 0.5:
		return c
	}
	return nil
}

// headlong reports whether the last values grew in every reading, ten of them or
// the last five by more than half each, to more than a thousand times the value
// that they left.
func headlong(v []float64) bool {
	from := len(v) - 1
	for from > 0 && v[from-1] > 0 && v[from] > v[from-1] {
		from--
	}
	if len(v)-from < 6 || v[len(v)-1] < 1e3*v[from] || v[len(v)-1] < 100 {
		return false
	}
	if len(v)-from >= 10 {
		return true
	}
	for i := len(v) - 4; i < len(v); i++ {
		if v[i] < 1.5*v[i-1] {
			return false
		}
	}
	return true
}

func isLoss(name string) bool {
	n := strings.ToLower(name)
	if strings.HasSuffix(n, "-rmse") || strings.HasSuffix(n, "-logloss") || strings.HasSuffix(n, "-mae") { // boosting: "train-rmse"
		return true
	}
	return strings.Contains(n, "loss") && !strings.Contains(n, "scale") && !strings.HasPrefix(n, "eval")
}

// policyCollapse needs both: a KL divergence a hundred times its early level, or
// far below zero, and a reward that fell back to where it began or below. Where the
// trainer itself warned of a negative divergence, the reward may go either way.
func policyCollapse(f *casefile.File) []failure.Sighting {
	kl := firstOf(f, "kl", "objective/kl", "approx_kl", "ppo_kl", "actor/ppo_kl", "train/approx_kl", "mean_kl")
	reward := firstOf(f, "reward", "rewards", "objective/rlhf_reward", "objective/scores", "ep_rew_mean", "rollout/ep_rew_mean", "critic/rewards/mean", "episode_reward", "mean_reward", "env/reward_mean", "ppo/returns/mean")
	if kl == nil || reward == nil {
		return nil
	}
	k, r := kl.Values(), reward.Values()
	if len(k) < minPoints || len(r) < minPoints {
		return nil
	}
	early, late := run.Median(k[:max(3, len(k)/10)]), run.Median(k[len(k)-max(3, len(k)/10):])
	begin, end := run.Median(r[:max(3, len(r)/10)]), run.Median(r[len(r)-max(3, len(r)/10):])
	best := reward.Max.Value
	negative := late < -5 && late < -5*math.Abs(early) && run.Trend(k) < -0.6 // such an estimate is a reward of its own
	gone := end <= begin && best-end >= 0.8*(best-reward.Min.Value)
	paid := negative && f.Has("ppo-kl-negative")
	if !negative && (late < 10 || late < 100*early) || !gone && !paid {
		return nil
	}
	p := firstAbove(kl, 10*max(early, 0.1))
	if negative {
		p = firstBelow(kl, 0)
	}
	return found(f, p, 0.75, "policy-drift", report.Diverged, fmt.Sprintf("%s went from %.3g to %.3g and %s from %.3g (at best %.3g) to %.3g.", run.Name(kl.Name), early, late, run.Name(reward.Name), begin, best, end), kl.Last.Ref)
}

func firstOf(f *casefile.File, names ...string) *run.Series {
	for _, n := range names {
		if s := f.Series(n); s != nil {
			return s
		}
	}
	return nil
}

// firstAbove is the first point above a level.
func firstAbove(s *run.Series, level float64) run.Point {
	for _, p := range s.Points() {
		if p.Value > level {
			return p
		}
	}
	return s.Last
}

// weightsDestroyed finds an explosion that came down again to a useless level:
// a finite final loss hides it.
func weightsDestroyed(f *casefile.File) []failure.Sighting {
	eval, train := f.Series("eval_loss"), f.Series("loss")
	if !eval.Finite() || !train.Finite() || eval.Count < 4 || objectiveChanges(f) {
		return nil
	}
	if eval.First.Value <= 0 || eval.Max.Value < 100*eval.First.Value || eval.Last.Value < 1.5*eval.First.Value || train.Last.Value < 1.3*train.First.Value {
		return nil
	}
	return found(f, eval.Max, 0.8, "too-hot", report.Diverged, fmt.Sprintf("eval_loss went from %.4g through %.4g to %.4g and the training loss ended at %.4g, above its first %.4g.", eval.First.Value, eval.Max.Value, eval.Last.Value, train.Last.Value, train.First.Value), eval.Last.Ref)
}
