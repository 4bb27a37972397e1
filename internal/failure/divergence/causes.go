package divergence

import (
	"fmt"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var causes = []failure.Cause{
	{
		Name:  "too-hot",
		Root:  "The updates are larger than the loss surface allows at this point: the learning rate (or its schedule, or the scale of the targets) is too high for this model, batch and precision, so the loss climbs away from its best level.",
		Fixes: []report.Fix{rollBackLower, clip, stabilise},
	},
	{
		Name:  "gradients-explode",
		Root:  "The gradient norm grew far above its usual level and no clipping held it, so single updates threw the weights out of the region where the loss was low.",
		When:  gradientsExplode,
		Fixes: []report.Fix{clip, rollBackLower, stabilise},
	},
	{
		Name: "posterior-collapse",
		Root: "Posterior collapse: the decoder is strong enough to do without the latent code, and the divergence weighed in full from the first step drove the posterior onto the prior before the code was of any use.",
		Fixes: []report.Fix{{
			Action: "Anneal the weight of the divergence from 0 (cyclically), allow free bits per unit, or weaken the decoder (word dropout)", Risk: report.NeedsApproval, ExpectedImpact: "the latent code is used",
			Validate: "the divergence stays above 1 nat and more than half of the units are active after 5 epochs", TimeToTrySeconds: 3600, Confidence: 0.8, Impact: 0.9, Reversible: true,
		}},
	},
	{
		Name: "unscaled-target",
		Root: "The loss starts at the square of the target's scale: the targets are not normalised, so the first gradients are huge for this learning rate and the loss explodes within a few batches.",
		When: unscaledTarget,
		Fixes: []report.Fix{{
			Action: "Standardise the targets (and inputs) to zero mean and unit variance, and invert the scaling for metrics", Risk: report.NeedsApproval, ExpectedImpact: "brings the first loss to about 1 and the gradients into range",
			Validate: "the first reported loss is near 1 and falls over 200 steps", TimeToTrySeconds: 900, Confidence: 0.8, Impact: 0.9, Reversible: true,
		}, rollBackLower, clip},
	},
}

var (
	rollBackLower = report.Fix{
		Action: "Resume from the last checkpoint before the loss rose, with the learning rate lowered by 3x", Risk: report.NeedsApproval, ExpectedImpact: "returns to the good region with updates that fit it",
		Validate: "the loss stays within its earlier noise for 200 steps past the old onset", TimeToTrySeconds: 900, Confidence: 0.7, Impact: 0.85, Reversible: true,
	}
	clip = report.Fix{
		Action: "Clip gradients at norm 1.0", Risk: report.NeedsApproval, ExpectedImpact: "bounds each update", Validate: "grad_norm below 10x its median and no new rise of the loss for 200 steps",
		TimeToTrySeconds: 300, Confidence: 0.6, Impact: 0.7, Reversible: true,
	}
	stabilise = report.Fix{
		Action: "Lengthen the warm-up, or raise Adam's epsilon to 1e-6 and lower beta2 to 0.95", Risk: report.NeedsApproval, ExpectedImpact: "damps the second-moment instabilities of late training",
		Validate: "no new rise of the loss for 200 steps", TimeToTrySeconds: 900, Confidence: 0.45, Impact: 0.6, Reversible: true,
	}
)

// gradientsExplode compares the end of grad_norm with its early median.
func gradientsExplode(f *casefile.File) (float64, []casefile.Evidence) {
	s := f.Series("grad_norm")
	if s == nil || s.Kept() < 10 || !s.Finite() {
		return 0, nil
	}
	v := s.Values()
	if len(v) < 10 {
		return 0, nil
	}
	base := run.Median(v[:len(v)/2])
	if base > 0 && s.Max.Value > 20*base && s.Max.Value > 10 {
		return 0.7, []casefile.Evidence{{Ref: s.Max.Ref, Rank: run.NoRank, Text: fmt.Sprintf("grad_norm reached %.4g, its early median is %.3g", s.Max.Value, base)}}
	}
	return 0, nil
}

func unscaledTarget(f *casefile.File) (float64, []casefile.Evidence) {
	s := f.Series("loss")
	if s == nil || !s.Finite() || s.Count == 0 {
		return 0, nil
	}
	if s.First.Value > 1e4 && f.Series("accuracy") == nil {
		return 0.65, []casefile.Evidence{{Ref: s.First.Ref, Rank: run.NoRank, Text: fmt.Sprintf("the first loss is %.4g", s.First.Value)}}
	}
	return 0, nil
}
