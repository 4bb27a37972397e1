package evalmismatch

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/run"
)

// stuckMetric finds a score that sits at its floor in every evaluation while the
// losses say that the model learns: it is the scoring that is wrong.
func stuckMetric(f *casefile.File) []failure.Sighting {
	train, eval := f.Series("loss"), f.Series("eval_loss")
	if train == nil || eval == nil || eval.Count < 3 || !train.Finite() || !eval.Finite() {
		return nil
	}
	learns := train.Last.Value < 0.7*train.First.Value && eval.Last.Value < 0.9*eval.First.Value && eval.Last.Value <= 1.1*eval.Min.Value
	if !learns {
		return nil
	}
	for _, s := range f.AllSeries() {
		if s.Count < 3 || !s.Finite() {
			continue
		}
		name := strings.ToLower(s.Name)
		var floor bool
		switch {
		case isErrorRate(name):
			floor = s.Min.Value >= 95 || s.Min.Value >= 0.95 && s.Max.Value < 3
		case isScore(name):
			floor = s.Max.Value <= 0.02
		}
		if floor {
			return found(0.72, "two-ways", s.Last, f, fmt.Sprintf("%s lies at %.4g in every evaluation while the evaluation loss fell from %.4g to %.4g.", run.Name(s.Name), s.Last.Value, eval.First.Value, eval.Last.Value), s.First.Ref)
		}
	}
	return nil
}

func isErrorRate(name string) bool {
	return strings.HasSuffix(name, "wer") || strings.HasSuffix(name, "cer") || strings.HasSuffix(name, "error_rate")
}

func isScore(name string) bool {
	if !strings.HasPrefix(name, "eval") && !strings.HasPrefix(name, "val") {
		return false
	}
	for _, w := range []string{"accuracy", "exact_match", "f1", "bleu", "rouge1", "rougel"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// reportContradicts compares a classification report with the evaluation
// accuracy that the same run reported.
func reportContradicts(f *casefile.File) []failure.Sighting {
	acc := fraction(f.Series("eval_accuracy"))
	if acc == nil || !acc.Finite() || acc.Last.Value < 0.6 {
		return nil
	}
	for _, e := range f.EventsOf("classification-report") {
		v, err := strconv.ParseFloat(e.Groups["f1"], 64)
		if err != nil || v > acc.Last.Value-0.4 || v > 0.5 {
			continue
		}
		p := run.Point{Step: -1, Ref: e.LastRef}
		says := fmt.Sprintf("The classification report says %.2f while evaluation reported an accuracy of %.3f for the same model: predictions and labels are not paired.", v, acc.Last.Value)
		return seen(0.8, "predictions-unpaired", p, e.Text, says, []run.Ref{acc.Last.Ref})
	}
	return nil
}

// perfectTooEarly: evaluation is perfect from its first time on, over several
// evaluations, though training itself stays far from it.
func perfectTooEarly(f *casefile.File) []failure.Sighting {
	train, eval := fraction(f.Series("accuracy")), fraction(f.Series("eval_accuracy"))
	if train == nil || eval == nil || !train.Finite() || !eval.Finite() || eval.Count < 3 {
		return nil
	}
	if eval.Min.Value < 0.9995 || train.First.Value > 0.8 || train.Max.Value > 0.97 {
		return nil
	}
	return found(0.6, "leakage", eval.First, f, fmt.Sprintf("Evaluation accuracy is %.4f from the first evaluation on while training accuracy never passes %.3f.", eval.First.Value, train.Max.Value))
}

// untemplated finds a chat model that was scored on bare prompts.
func untemplated(f *casefile.File) []failure.Sighting {
	warned := f.EventsOf("lm-eval-no-chat-template")
	if len(warned) == 0 {
		return nil
	}
	for _, e := range f.EventsOf("lm-eval-result") {
		if v, err := strconv.ParseFloat(e.Groups["value"], 64); err == nil && v <= 0.02 {
			return told(0.75, "no-template", -1, warned[0], fmt.Sprintf("The evaluation ran without the chat template and scores %s.", e.Groups["value"]), e.Ref)
		}
	}
	return nil
}

// apStaysZero finds a COCO evaluation that finds nothing, three times or more,
// while the training loss fell: boxes are there, under other class ids or on
// another scale than the ground truth.
func apStaysZero(f *casefile.File) []failure.Sighting {
	train := f.Series("loss")
	if train == nil || !train.Finite() || train.Count < 6 || train.Last.Value > 0.6*train.First.Value {
		return nil
	}
	var first, last *casefile.Event
	n := 0
	for _, e := range f.EventsOf("coco-ap") {
		if v, ok := value(e); !ok || v > 0.02 {
			return nil
		}
		if first == nil {
			first = e
		}
		last = e
		n += e.Count
	}
	deep := last != nil && train.Last.Value < 0.25*train.First.Value && train.Last.Step >= 2000
	if n < 3 && !deep {
		return nil
	}
	return told(0.6, "two-ways", last.Step, first, fmt.Sprintf("Average precision stays at nothing in all of %d evaluations while the training loss fell from %.4g to %.4g.", n, train.First.Value, train.Last.Value), last.LastRef)
}
