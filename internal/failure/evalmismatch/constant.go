package evalmismatch

import (
	"fmt"
	"math"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/run"
)

// sameScore finds a score that is the same number in every evaluation though
// training goes on to learn: the evaluation does not see the model that is trained.
func sameScore(f *casefile.File) []failure.Sighting {
	loss, acc := f.Series("loss"), fraction(f.Series("accuracy"))
	if !loss.Finite() || loss.NonFinite > 0 || loss.Count < 6 {
		return nil
	}
	v := loss.Values()
	first, last := run.Median(v[:max(1, len(v)/4)]), run.Median(v[len(v)-max(1, len(v)/4):])
	for _, s := range f.AllSeries() {
		if !s.Finite() || s.NonFinite > 0 || s.Count < 6 || s.Min.Value != s.Max.Value || !failure.PoorScore(s.Name, s.Last.Value) {
			continue
		}
		value := s.Last.Value
		if value > 1 {
			value /= 100
		}
		eval := strings.HasPrefix(s.Name, "eval")
		if tenths := value * 10; !eval && s.Count < 20 && math.Abs(tenths-math.Round(tenths)) < 1e-9 {
			continue // printed with one digit: it may have moved
		}
		learns := last < 0.7*first || eval && acc != nil && acc.Finite() && acc.Last.Value > value+0.25
		meaningless := s.Count >= 10 && last < 0.3*(1-value)*math.Ln2 && value < 0.5
		if !learns && !meaningless {
			continue
		}
		says := fmt.Sprintf("%s is %.6g in all of %d evaluations while the training loss went from %.4g to %.4g.", run.Name(s.Name), s.Last.Value, s.Count, first, last)
		if !learns {
			says = fmt.Sprintf("%s is %.6g in all of %d evaluations at a loss of %.4g: wrong answers cost more than that, so the metric does not judge what the loss trains (an accuracy of a regression).", run.Name(s.Name), s.Last.Value, s.Count, last)
		}
		return found(0.72, "two-ways", s.Last, f, says, s.First.Ref)
	}
	return nil
}

// opposed finds a score that gets worse in nearly every evaluation while the
// evaluation loss of the same data falls: what the metric compares is not what
// the model is trained on.
func opposed(f *casefile.File) []failure.Sighting {
	loss := f.Series("eval_loss")
	if !loss.Finite() || loss.NonFinite > 0 || loss.Count < 5 || loss.Last.Value > 0.85*loss.First.Value || run.Trend(loss.Values()) > -0.6 {
		return nil
	}
	for _, s := range f.AllSeries() {
		if s.Count < 5 || s.Count != loss.Count || !s.Finite() || s.NonFinite > 0 || s.First.Value <= 0 {
			continue
		}
		name, worse := strings.ToLower(s.Name), false
		switch change := s.Last.Value / s.First.Value; {
		case isErrorRate(name):
			worse = change > 1.15 && run.Trend(s.Values()) > 0.8
		case isScore(name):
			worse = change < 0.85 && run.Trend(s.Values()) < -0.8
		}
		if worse {
			return found(0.68, "two-ways", s.Last, f, fmt.Sprintf("%s went from %.4g to %.4g while the evaluation loss fell from %.4g to %.4g: the better the model fits, the worse it scores.", run.Name(s.Name), s.First.Value, s.Last.Value, loss.First.Value, loss.Last.Value), s.First.Ref)
		}
	}
	return nil
}

// evalLost finds an evaluation accuracy that had been twice as good and is one
// and the same number in the last evaluations, while training goes on well.
func evalLost(f *casefile.File) []failure.Sighting {
	s, loss := f.Series("eval_accuracy"), f.Series("loss")
	if !s.Finite() || !loss.Finite() || loss.NonFinite > 0 || s.NonFinite > 0 || s.Count < 5 {
		return nil
	}
	v, l := s.Values(), loss.Values()
	last := v[len(v)-1]
	if v[len(v)-2] != last || v[len(v)-3] != last || last > 0.6*s.Max.Value || l[len(l)-1] > 1.02*l[0] {
		return nil
	}
	return found(0.66, "two-ways", s.Last, f, fmt.Sprintf("Evaluation accuracy had reached %.4g and is %.4g in each of the last evaluations, while the training loss went from %.4g to %.4g.", s.Max.Value, last, l[0], l[len(l)-1]), s.Max.Ref)
}

// farFromTraining finds an evaluation at the bottom, with a loss a hundred times
// that of training, which has learnt its own data by heart.
func farFromTraining(f *casefile.File) []failure.Sighting {
	eval, acc, loss := f.Series("eval_loss"), fraction(f.Series("eval_accuracy")), f.Series("loss")
	if !eval.Finite() || acc == nil || !acc.Finite() || !loss.Finite() || loss.Count < 10 {
		return nil
	}
	train := run.Median(loss.Values())
	if train <= 0 || train > 0.05 || eval.Last.Value < 3 || eval.Last.Value < 100*train || acc.Last.Value > 0.1 {
		return nil
	}
	return found(0.72, "two-ways", acc.Last, f, fmt.Sprintf("The evaluation has loss %.4g and accuracy %.4g at a training loss of %.4g: its data or labels are not those of training.", eval.Last.Value, acc.Last.Value, train), loss.Last.Ref)
}
