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

// absurdPerplexity is a perplexity that no text gives: a vocabulary has fewer
// words, by orders of magnitude.
const absurdPerplexity = 1e7

// perplexityAbsurd finds a perplexity beyond any vocabulary that does not come
// down: what an optimiser leaves that has blown up, often cut at exp(100).
func perplexityAbsurd(f *casefile.File) []failure.Sighting {
	for _, s := range f.AllSeries() {
		n := strings.ToLower(s.Name)
		if n != "perplexity" && n != "ppl" && n != "eval_perplexity" || s.Count < 6 || !s.Finite() {
			continue
		}
		v := s.Values()
		tail := v[max(0, len(v)-5):]
		if len(tail) < 5 || slices.Min(tail) < absurdPerplexity || run.Median(tail) < 0.5*run.Median(v[:max(1, len(v)/2)]) {
			continue
		}
		return []failure.Sighting{{
			Type: report.AnomalyDivergence, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.8, Cause: "too-hot", Rank: s.Rank, Step: s.Last.Step, Ref: s.Last.Ref, Text: f.TextAt(s.Last.Ref),
			Also: []run.Ref{s.First.Ref}, Status: report.Diverged,
			Says: fmt.Sprintf("%s is %.3g and does not come down: more than any vocabulary has words.", run.Name(s.Name), s.Last.Value),
		}}
	}
	return nil
}

// rewardFalls finds a reward that goes down all the way: training makes the policy
// worse, far beyond the spread of its early episodes.
func rewardFalls(f *casefile.File) []failure.Sighting {
	for _, s := range f.AllSeries() {
		n := strings.ToLower(strings.ReplaceAll(s.Name, " ", "_"))
		if !rewardNames[n[strings.LastIndexByte(n, '/')+1:]] || s.Kept() < 10 || !s.Finite() {
			continue
		}
		v := s.Values()
		third := len(v) / 3
		early := v[:third]
		lo, hi := slices.Min(early), slices.Max(early)
		end := run.Median(v[len(v)-max(2, len(v)/5):])
		if run.Trend(v) > -0.7 || lo-end < 5*(hi-lo) || lo-end < math.Abs(run.Median(early)) {
			continue
		}
		return found(f, s.Last, 0.68, "policy-drift", report.Degraded, fmt.Sprintf("%s fell from %.4g to %.4g without a turn: training makes the policy worse.", run.Name(s.Name), run.Median(early), end), s.First.Ref)
	}
	return nil
}

var rewardNames = map[string]bool{
	"reward": true, "rewards": true, "mean_reward": true, "ep_rew_mean": true, "episode_reward": true, "episode_reward_mean": true,
	"episodic_return": true, "average_reward": true, "avg_reward": true, "episode_return_mean": true, "return": true,
}

// posteriorCollapse finds a variational autoencoder whose latent code says nothing:
// the divergence fell to nothing while the reconstruction is still being learnt.
func posteriorCollapse(f *casefile.File) []failure.Sighting {
	var kl *run.Series
	recon := false
	for _, s := range f.AllSeries() {
		n := strings.ToLower(s.Name)
		n = n[strings.LastIndexAny(n, "/ ")+1:]
		n = strings.TrimPrefix(n, "train_")
		recon = recon || strings.HasPrefix(n, "rec") || strings.HasPrefix(n, "nll")
		if vaeNames[n] && (kl == nil || s.Count > kl.Count) {
			kl = s.Series
		}
	}
	if !recon || !kl.Finite() || kl.NonFinite > 0 || kl.Count < 8 || kl.First.Value < 0.05 {
		return nil
	}
	v := kl.Values()
	late := v[len(v)-max(3, len(v)/4):]
	if slices.Max(late) > 0.01 || slices.Max(late) > 0.01*kl.Max.Value {
		return nil
	}
	return found(f, kl.Last, 0.7, "posterior-collapse", report.Degraded, fmt.Sprintf("%s fell from %.4g to %.2g: the latent code tells the decoder nothing.", run.Name(kl.Name), kl.Max.Value, kl.Last.Value), kl.First.Ref)
}

var vaeNames = map[string]bool{"kl": true, "kld": true, "kl_loss": true, "kl_div": true, "kld_loss": true, "kl_divergence": true}
