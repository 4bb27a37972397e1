package naninf

import (
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
)

var causes = []failure.Cause{
	{
		Name:  "fp16-overflow",
		Root:  "Activations or gradients overflow the range of fp16 on every step, so the dynamic loss scale shrank to its minimum and nothing could be learnt any more. Models that were pre-trained in bf16 do this when they are run in fp16.",
		Fixes: []report.Fix{useBF16, lowerLR, clipGradients},
	},
	{
		Name: "half-weights",
		Root: "The weights themselves are fp16 and the optimizer updates them directly, with no fp32 master copy: updates underflow or overflow and the weights become NaN.",
		When: halfWeights,
		Fixes: []report.Fix{{
			Action: "Load the trained weights in fp32 (or bf16) and let autocast use half precision for the compute", Risk: report.NeedsApproval,
			ExpectedImpact: "removes the overflow of the updates", Validate: "loss and grad_norm stay finite for 200 steps", TimeToTrySeconds: 600, Confidence: 0.8, Impact: 0.9, Reversible: true,
		}, useBF16, lowerLR},
	},
	{
		Name: "fp16-latents",
		Root: "The VAE overflows in fp16 (that of SDXL is known for it), so the latents of the images are NaN; replaced by zeros they teach the model nothing, whatever the loss says.",
		Fixes: []report.Fix{{
			Action: "Run the VAE in fp32 (--no_half_vae) or with a VAE that was repaired for fp16, and delete cached latents", Risk: report.NeedsApproval,
			ExpectedImpact: "latents are finite and the images are learnt", Validate: "the message does not come again, and samples change with training", TimeToTrySeconds: 300, Confidence: 0.92, Impact: 0.95, Reversible: true,
		}},
	},
	{
		Name: "degenerate-samples",
		Root: "Samples without content (length 0, empty boxes, negative sizes, a zero mask) give a division by zero or the logarithm of a non-positive number in the loss, and that NaN poisons the weights.",
		When: degenerateSamples,
		Fixes: []report.Fix{{
			Action: "Filter the degenerate samples (length 0, width or height <= 0, all labels ignored) and guard the loss against empty batches", Risk: report.NeedsApproval,
			ExpectedImpact: "removes the source of the NaN", Validate: "a pass over the data finds no such sample; loss stays finite for 200 steps", TimeToTrySeconds: 1800, Confidence: 0.8, Impact: 0.9, Reversible: true,
		}, rollBack},
	},
	{
		Name:  "early-nan",
		Root:  "The loss became non-finite within the first 100 steps. So early it is most often the learning rate, the precision or the scale of inputs and targets, and seldom a rare bad batch.",
		Fixes: []report.Fix{lowerLR, checkInputs, clipGradients},
	},
	{
		Name:  "early-nan-in-fp16",
		When:  earlyInFP16,
		Root:  "The loss became non-finite within the first 100 steps of a run in fp16: activations or gradients leave its range, or the learning rate is too high for it.",
		Fixes: []report.Fix{useBF16, lowerLR, checkInputs, clipGradients},
	},
	{
		Name:  "late-nan",
		Root:  "The loss became non-finite after many stable steps: a gradient explosion, or a corrupt or degenerate batch late in the data.",
		Fixes: []report.Fix{rollBack, clipGradients, checkInputs, lowerLR},
	},
}

var (
	lowerLR = report.Fix{
		Action: "Lower the learning rate by 3x (or lengthen the warm-up) and start from the last finite checkpoint", Risk: report.NeedsApproval, ExpectedImpact: "smaller updates keep activations in range",
		Validate: "no NaN for 300 steps and grad_norm below 10x its early median", TimeToTrySeconds: 600, Confidence: 0.6, Impact: 0.8, Reversible: true,
	}
	useBF16 = report.Fix{
		Action: "Train in bf16 instead of fp16 (or in fp32 where the GPU has no bf16)", Risk: report.NeedsApproval, ExpectedImpact: "bf16 has the range of fp32: no overflow, no loss scale",
		Validate: "no skipped steps and a finite loss for 200 steps", TimeToTrySeconds: 300, Confidence: 0.75, Impact: 0.9, Reversible: true,
	}
	clipGradients = report.Fix{
		Action: "Clip gradients at norm 1.0", Risk: report.NeedsApproval, ExpectedImpact: "caps the update of a bad batch",
		Validate: "grad_norm stays finite and below 50 for 200 steps", TimeToTrySeconds: 300, Confidence: 0.55, Impact: 0.7, Reversible: true,
	}
	rollBack = report.Fix{
		Action: "Resume from the last checkpoint before the first non-finite value and skip or inspect the batches that follow", Risk: report.NeedsApproval, ExpectedImpact: "recovers finite weights",
		Validate: "the loss passes the step of the failure and stays finite for 200 steps", TimeToTrySeconds: 900, Confidence: 0.6, Impact: 0.8, Reversible: true,
	}
	checkInputs = report.Fix{
		Action: "Check inputs and targets for NaN, Inf and unscaled values; run 50 steps with anomaly detection on", Risk: report.NeedsApproval, ExpectedImpact: "names the operation or the batch that gives NaN first",
		Validate: "the offending layer or sample is named", TimeToTrySeconds: 900, Confidence: 0.6, Impact: 0.6, Reversible: true, LeavesCause: true,
	}
)

// earlyInFP16 needs both: a loss that was lost early and fp16.
func earlyInFP16(f *casefile.File) (float64, []casefile.Evidence) {
	loss := f.Series("loss")
	if loss == nil || loss.FirstNonFinite == nil || loss.FirstNonFinite.Step < 0 || when(f, loss.FirstNonFinite.Step) != "early-nan" {
		return 0, nil
	}
	return trainsInFP16(f)
}

// trainsInFP16 needs a setting or the loss scaler's own words; bf16 beside it
// wins, since configs hold both with one of them off.
func trainsInFP16(f *casefile.File) (float64, []casefile.Evidence) {
	for _, key := range []string{"config.bf16", "config.bf16.enabled"} {
		if strings.EqualFold(f.Value(key), "true") {
			return 0, nil
		}
	}
	for _, key := range []string{"config.fp16", "config.fp16.enabled", "config.precision", "config.mixed_precision", "config.amp"} {
		v, ok := f.Fact(key)
		switch strings.ToLower(v.Value) {
		case "true", "16", "fp16", "16-mixed", "float16", "mixed_float16":
			if ok {
				return 0.6, []casefile.Evidence{{Ref: v.From, Rank: -1, Text: key + " = " + v.Value}}
			}
		}
	}
	if e := f.EventsOf("gradient-overflow-skip"); len(e) > 0 {
		return 0.6, []casefile.Evidence{e[len(e)-1].Cite()}
	}
	return 0, nil
}

// halfWeights needs both: weights in half precision and no autocast.
func halfWeights(f *casefile.File) (float64, []casefile.Evidence) {
	for _, key := range []string{"weights.dtype", "config.torch_dtype", "config.dtype"} {
		v, ok := f.Fact(key)
		if ok && (strings.Contains(v.Value, "float16") && !strings.Contains(v.Value, "bfloat16") || v.Value == "fp16" || v.Value == "half") {
			return 0.7, []casefile.Evidence{{Ref: v.From, Rank: -1, Text: key + " = " + v.Value}}
		}
	}
	return 0, nil
}

func degenerateSamples(f *casefile.File) (float64, []casefile.Evidence) {
	for _, id := range []string{"degenerate-sample-warning"} {
		if e := f.EventsOf(id); len(e) > 0 {
			return 0.75, []casefile.Evidence{e[0].Cite()}
		}
	}
	return 0, nil
}
