package evalmismatch

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/run"
)

// overOne finds an area under a curve above 1.
func overOne(f *casefile.File) []failure.Sighting {
	for _, s := range f.AllSeries() {
		if !strings.Contains(strings.ToLower(s.Name), "auc") || !s.Finite() || s.Max.Value <= 1.000001 || s.Max.Value > 1.5 {
			continue
		}
		return found(0.75, "two-ways", s.Max, f, fmt.Sprintf("%s is %.6g: no area under a curve is larger than 1, so it is computed wrongly (weights, rounding, ties).", run.Name(s.Name), s.Max.Value))
	}
	return nil
}

// perfectAndNot: an evaluator reports a perfect F1 and, for the same scores, an
// average precision that contradicts it: all scores are tied.
func perfectAndNot(f *casefile.File) []failure.Sighting {
	var perfect *casefile.Event
	for _, e := range f.EventsOf("binary-evaluator") {
		v, ok := value(e)
		switch {
		case !ok:
		case e.Groups["name"] == "F1" && v >= 99.9:
			perfect = e
		case e.Groups["name"] == "F1":
			perfect = nil
		case e.Groups["name"] == "Average Precision" && v < 70 && perfect != nil && e.Order-perfect.Order < 6:
			return told(0.75, "two-ways", e.Step, perfect, fmt.Sprintf("The evaluator reports an F1 of %s and an average precision of %s for the same scores: they are tied, and no threshold means anything.", perfect.Groups["value"], e.Groups["value"]), e.Ref)
		}
	}
	return nil
}

// oneTokenEach: BLEU is 0 and both sides have exactly as many tokens as there are
// sentences: the scorer saw each sentence as one token.
func oneTokenEach(f *casefile.File) []failure.Sighting {
	for _, e := range f.EventsOf("bleu-lengths") {
		if e.Groups["sys"] == e.Groups["ref"] && e.Groups["value"] == "0.00" {
			return told(0.72, "tokenized-references", -1, e, fmt.Sprintf("BLEU is 0 and hypotheses and references have the same %s tokens: each sentence was scored as one token.", e.Groups["sys"]))
		}
	}
	return nil
}

// loadedModel are the words for a model that was read from a file again.
var loadedModel = regexp.MustCompile(`(?i)\b(?:re-?load(?:ed|ing)?|loaded|restored|from (?:disk|checkpoint|file)|after load)`)

// worseWhenLoaded compares an accuracy of the model in memory with that of the
// model that was loaded again: the same data, a third of it lost.
func worseWhenLoaded(f *casefile.File) []failure.Sighting {
	before, ref := -1.0, run.Ref{}
	if s := fraction(f.Series("eval_accuracy")); s != nil && s.Finite() {
		before, ref = s.Last.Value, s.Last.Ref
	}
	for _, e := range f.EventsOf("accuracy-line") {
		v, err := strconv.ParseFloat(e.Groups["value"], 64)
		if err != nil {
			continue
		}
		if v > 1 {
			v /= 100
		}
		if !loadedModel.MatchString(e.Text) {
			if before < 0 && e.Step >= 0 {
				before, ref = v, e.Ref
			}
			continue
		}
		if before < 0.2 || v > 0.67*before || before-v < 0.15 {
			continue
		}
		return told(0.72, "two-ways", -1, e, fmt.Sprintf("Accuracy is %.3g in the process that trained and %.3g for the model that was loaded again.", before, v), ref)
	}
	return nil
}

// paddedRight finds texts that were generated from right-padded prompts and scored
// badly, though the loss of the same model is good: most prompts did not end where
// the model began to write.
func paddedRight(f *casefile.File) []failure.Sighting {
	warned := f.EventsOf("right-padded-prompts")
	loss := f.Series("eval_loss")
	if loss == nil || loss.Count < 2 {
		loss = f.Series("loss")
	}
	if len(warned) == 0 || !loss.Finite() || loss.Count < 2 || loss.Last.Value > 0.8*loss.First.Value && loss.Last.Value > 1 {
		return nil
	}
	for _, e := range f.EventsOf("generated-score") {
		v, err := strconv.ParseFloat(e.Groups["value"], 64)
		if err != nil || e.Stream == warned[0].Stream && e.Order < warned[0].Order || v > 0.35 && v <= 1 || v > 35 {
			continue
		}
		return told(0.74, "right-padding", -1, e, fmt.Sprintf("The score is %s at a loss of %.4g, and the prompts were padded on the right: what follows the padding is no answer to the prompt.", e.Groups["value"], loss.Last.Value), warned[0].Ref)
	}
	return nil
}

// noGroundTruth finds an evaluation of boxes that has nothing to compare with,
// while training sees boxes and learns them.
func noGroundTruth(f *casefile.File) []failure.Sighting {
	e := f.EventsOf("coco-no-ground-truth")
	if len(e) == 0 {
		return nil
	}
	for _, s := range f.AllSeries() {
		n := strings.ToLower(s.Name)
		if s.Count < 3 || !s.Finite() || s.Last.Value <= 0 || !strings.Contains(n, "box") && !strings.Contains(n, "giou") && !strings.Contains(n, "bbox") {
			continue
		}
		return told(0.8, "no-ground-truth", e[0].Step, e[0], fmt.Sprintf("Average precision is -1, which means that no ground truth was left to compare with, while training has boxes to learn from (%s %.4g).", run.Name(s.Name), s.Last.Value), s.Last.Ref)
	}
	return nil
}

// leaks finds an area under the curve that is all but perfect on one split and
// poor on another one of the same model: an input tells the answer there.
func leaks(f *casefile.File) []failure.Sighting {
	var best, worst *casefile.Event
	top, low := 0.0, 1.0
	for _, e := range f.EventsOf("auc-line") {
		v, ok := value(e)
		switch split := strings.ToLower(e.Groups["split"]); {
		case !ok || split == "":
		case v > top && strings.HasPrefix(split, "val"):
			top, best = v, e
		case v < low && !strings.HasPrefix(split, "val"):
			low, worst = v, e
		}
	}
	if best == nil || worst == nil || top < 0.999 || low > 0.85 {
		return nil
	}
	return told(0.76, "target-leak", best.Step, best, fmt.Sprintf("The area under the curve is %.5g in the validation and %.4g on other data of the same task: no honest model loses so much.", top, low), worst.Ref)
}

// decodesAnother finds a recogniser that reads its validation data well in training
// and gets hardly a word right when it decodes.
func decodesAnother(f *casefile.File) []failure.Sighting {
	for _, e := range f.EventsOf("asr-accuracy-and-error") {
		acc, err := strconv.ParseFloat(e.Groups["acc"], 64)
		if v, ok := value(e); ok && err == nil && acc >= 0.8 && acc <= 1 && v >= 75 {
			return told(0.76, "two-ways", e.Step, e, fmt.Sprintf("%.4g %% of the words count as wrong while %.3g of the tokens are right: references and hypotheses are not written in the same way (case, tokens), or another vocabulary decodes.", v, acc))
		}
	}
	for _, name := range []string{"eval_accuracy", "accuracy"} {
		acc := fraction(f.Series(name))
		if acc == nil || acc.Last.Value < 0.8 {
			continue
		}
		for _, e := range f.EventsOf("asr-score-row") {
			if v, ok := value(e); ok && v >= 75 {
				return told(0.74, "two-ways", -1, e, fmt.Sprintf("Decoding gets %.4g %% of the words wrong at a validation accuracy of %.4g: it does not use the vocabulary or the model of the training.", v, acc.Last.Value), acc.Last.Ref)
			}
		}
	}
	return nil
}

// returnLost compares the return of the training episodes with that of the policy
// that was loaded and played: it gets a fraction of it where its inputs are not
// normalised as in training.
func returnLost(f *casefile.File) []failure.Sighting {
	train := f.Series("ep_rew_mean")
	if train == nil || !train.Finite() || train.Count < 5 || train.Last.Value <= 0 || train.Last.Value < train.First.Value {
		return nil
	}
	played := f.EventsOf("mean-return")
	if len(played) == 0 {
		return nil
	}
	e := played[len(played)-1]
	v, err := strconv.ParseFloat(e.Groups["value"], 64)
	if err != nil || v > train.Last.Value/5 || e.Stream.Name == train.Last.Ref.File && e.Ref.Line < train.Last.Ref.Line {
		return nil
	}
	return told(0.74, "two-ways", -1, e, fmt.Sprintf("The mean return is %.4g in training and %.4g when the trained policy is played.", train.Last.Value, v), train.Last.Ref)
}
