package evalmismatch

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
)

// value is the number that an event's line states.
func value(e *casefile.Event) (float64, bool) {
	v, err := strconv.ParseFloat(e.Groups["value"], 64)
	return v, err == nil
}

// iouStaysZero: pixel accuracy of training is high and the mean IoU of every
// evaluation lies at nothing: the label ids of the two pipelines differ.
func iouStaysZero(f *casefile.File) []failure.Sighting {
	acc := fraction(f.Series("decode.acc_seg"))
	if acc == nil {
		acc = fraction(f.Series("accuracy"))
	}
	events := f.EventsOf("segmentation-miou")
	if acc == nil || !acc.Finite() || acc.Last.Value < 0.75 || len(events) == 0 {
		return nil
	}
	n := 0
	for _, e := range events {
		if v, ok := value(e); !ok || v > 2 || v > 0.05 && v <= 1 && acc.Max.Value > 1 {
			return nil
		}
		n += e.Count
	}
	last := events[len(events)-1]
	return told(0.7, "labels-permuted", last.Step, last, fmt.Sprintf("Training pixel accuracy is %.2f and the mean IoU is %s in the last of %d evaluations: the two do not read the same label ids.", acc.Last.Value, last.Groups["value"], n))
}

// perplexityOff: an evaluation harness reports a perplexity a thousand times
// what the training run reported for held-out text.
func perplexityOff(f *casefile.File) []failure.Sighting {
	own := math.Inf(1)
	for _, name := range []string{"eval_perplexity", "perplexity"} {
		if s := f.Series(name); s.Finite() {
			own = math.Min(own, s.Last.Value)
		}
	}
	for _, name := range []string{"eval_loss", "loss"} {
		if s := f.Series(name); s.Finite() {
			own = math.Min(own, math.Exp(s.Last.Value))
		}
	}
	for _, e := range f.EventsOf("lm-eval-perplexity") {
		if v, ok := value(e); ok && own < 1e3 && v > 1000*own {
			return told(0.72, "no-template", -1, e, fmt.Sprintf("The harness reports a perplexity of %.3g, the run itself about %.3g: texts are not tokenised alike (a missing begin-of-text token, another tokenizer or template).", v, own))
		}
	}
	return nil
}

// protocolsDiffer: the same ranking metric is several times higher in validation
// than in the test of the same model.
func protocolsDiffer(f *casefile.File) []failure.Sighting {
	for _, v := range f.EventsOf("ranking-valid-result") {
		for _, t := range f.EventsOf("ranking-test-result") {
			a, ok1 := value(v)
			b, ok2 := value(t)
			if !ok1 || !ok2 || v.Groups["name"] != t.Groups["name"] || a < 0.2 || b > a/4 {
				continue
			}
			return told(0.68, "protocols-differ", -1, t, fmt.Sprintf("%s is %.3f in validation and %.3f in the test of the same model: the two are not measured alike (sampled against full ranking, other candidates or splits).", v.Groups["name"], a, b), v.Ref)
		}
	}
	return nil
}

// filtersDisagree: the strict filter of a harness accepts nothing of what the
// flexible one finds right, so the answers are right in another format.
func filtersDisagree(f *casefile.File) []failure.Sighting {
	var low, high *casefile.Event
	for _, e := range f.EventsOf("lm-eval-result") {
		v, ok := value(e)
		switch {
		case !ok || e.Groups["metric"] != "exact_match":
		case v <= 0.02 && low == nil:
			low = e
		case v >= 0.2:
			high = e
		}
	}
	if low == nil || high == nil || low.Ref.File != high.Ref.File || low.Ref.Line-high.Ref.Line > 3 || high.Ref.Line-low.Ref.Line > 3 {
		return nil
	}
	return told(0.72, "answer-format", -1, low, fmt.Sprintf("One filter of the harness scores %s and the other %s on the same answers: they are right in a format that the strict one does not accept.", low.Groups["value"], high.Groups["value"]), high.Ref)
}

// backtestContradicts: R2 is high in validation and gone on later or external
// data of the same model.
func backtestContradicts(f *casefile.File) []failure.Sighting {
	var good, bad *casefile.Event
	for _, e := range f.EventsOf("r2-line") {
		v, ok := value(e)
		outside := outsideData.MatchString(e.Text)
		switch {
		case ok && !outside && v >= 0.9:
			good = e
		case ok && outside && v <= 0.3:
			bad = e
		}
	}
	if good == nil || bad == nil {
		return nil
	}
	return told(0.7, "leakage", -1, bad, fmt.Sprintf("R2 is %s in validation and %s outside of it: validation rows are not independent of training, or a feature holds the future.", good.Groups["value"], bad.Groups["value"]), good.Ref)
}

// outsideData are the words for data that validation was not drawn from.
var outsideData = regexp.MustCompile(`(?i)(backtest|out[- ]of[- ](time|sample)|oot\b|production|live|external|holdout|hold-out|\btest\b)`)
