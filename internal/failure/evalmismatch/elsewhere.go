package evalmismatch

import (
	"fmt"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/run"
)

// impossible finds scores that no sane scoring gives: an equal error rate far
// above one half, an area under the curve far below it in every evaluation. The
// sign of the score or the labels are turned round.
func impossible(f *casefile.File) []failure.Sighting {
	for _, e := range f.EventsOf("eer-line") {
		if v, ok := value(e); ok && (v > 60 && v <= 100 || v > 0.6 && v <= 1) {
			return told(0.78, "sign-turned", e.Step, e, fmt.Sprintf("The equal error rate is %s: with the scores' sign turned round it would be the rest to one.", e.Groups["value"]))
		}
	}
	var last *casefile.Event
	for _, e := range f.EventsOf("auc-line") {
		if v, ok := value(e); !ok || v > 0.35 || v == 0 {
			return nil
		}
		last = e
	}
	if last == nil {
		return nil
	}
	return told(0.7, "sign-turned", last.Step, last, fmt.Sprintf("The area under the curve is %s in every evaluation, far below chance: labels or scores are turned round.", last.Groups["value"]))
}

// otherFileDisagrees compares a score of the training log with the same score in
// a log that only evaluates: the same model, a tenth or more apart, is not
// evaluated alike.
func otherFileDisagrees(f *casefile.File) []failure.Sighting {
	trained := map[string]*casefile.Event{}
	for _, e := range f.EventsOf("named-score") {
		if trains(e.Stream) {
			trained[strings.ToLower(e.Groups["name"])] = e
		}
	}
	for _, e := range f.EventsOf("named-score") {
		t := trained[strings.ToLower(e.Groups["name"])]
		if trains(e.Stream) || t == nil {
			continue
		}
		a, ok1 := value(t)
		b, ok2 := value(e)
		if a > 1 && b > 1 {
			a, b = a/100, b/100
		}
		if !ok1 || !ok2 || a < 0.3 || a > 1 || b > a-0.07 {
			continue
		}
		return told(0.66, "two-ways", -1, e, fmt.Sprintf("%s is %s in the training run's own evaluation and %s in %s.", run.Name(e.Groups["name"]), t.Groups["value"], e.Groups["value"], run.Name(e.Ref.File)), t.Ref)
	}
	return nil
}

// trains reports whether a stream shows training steps, rather than only an
// evaluation.
func trains(s *casefile.Stream) bool {
	for _, r := range s.Readers {
		if r.Advances > 3 {
			return true
		}
	}
	return false
}
