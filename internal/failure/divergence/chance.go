package divergence

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// longTrained is how many steps a model has had its chance to learn after.
const longTrained = 5000

// predictsUniform finds a model whose accuracy is one over the classes and whose
// cross entropy their logarithm: it gives every class the same probability. That
// is how training begins; it is a failure where the model had been better, or was
// trained for long.
func predictsUniform(f *casefile.File) []failure.Sighting {
	for _, p := range []struct{ acc, loss string }{{"eval_accuracy", "eval_loss"}, {"eval_accuracy", "loss"}, {"accuracy", "loss"}} {
		acc, loss := share(f.Series(p.acc)), f.Series(p.loss)
		if len(acc) < 1 || !loss.Finite() || loss.NonFinite > 0 || objectiveChanges(f) {
			continue
		}
		end := run.Median(loss.Values()[max(0, loss.Kept()-5):])
		if last := acc[len(acc)-1]; !isUniform(last, end) && isUniform(last/100, end) && perCent.MatchString(f.TextAt(f.Series(p.acc).Last.Ref)) {
			for i := range acc {
				acc[i] /= 100
			}
		}
		last := acc[len(acc)-1]
		if !isUniform(last, end) || len(acc) > 1 && !isUniform(acc[len(acc)-2], end) && (last > 0.1 || acc[len(acc)-2] > 2*last) {
			continue // one evaluation (or one batch of it) may be so by chance
		}
		best, lowest := slices.Max(acc), math.Inf(1)
		smooth := medians(loss.Points(), 3)
		for _, v := range smooth[:max(0, len(smooth)-2)] {
			lowest = math.Min(lowest, v)
		}
		says := ""
		switch {
		case best >= 3*last && len(acc) > 2:
			says = fmt.Sprintf("Accuracy fell from %.4g back to %.4g", best, last)
		case lowest <= 0.8*end && len(smooth) > minPoints:
			says = fmt.Sprintf("The loss had fallen to %.4g and is back at %.4g", lowest, end)
		case loss.Last.Step >= longTrained && (best < 1.5*last || last < 0.1 && run.Median(acc) < 1.5*last):
			says = fmt.Sprintf("After %d steps accuracy is %.4g", loss.Last.Step, last)
		default:
			continue
		}
		at := f.Series(p.acc).Last
		return found(f, run.Point{Step: at.Step, Ref: loss.Last.Ref}, 0.72, "collapsed", report.Diverged, fmt.Sprintf("%s and the loss %.4g is the logarithm of that many classes: the model predicts nothing.", says, end), at.Ref)
	}
	return nil
}

// learningUndone finds a loss that had fallen, rose back to where it began and
// stays there without a move: what was learnt is gone.
func learningUndone(f *casefile.File) []failure.Sighting {
	pts := sinceRewind(f.Series("loss"))
	if len(pts) < 2*minPoints || f.Series("loss").NonFinite > 0 || objectiveChanges(f) || f.Value("run.resumed") == "true" {
		return nil
	}
	smooth := medians(pts, 5)
	first, tail := run.Median(smooth[:3]), smooth[len(smooth)-len(smooth)/4:]
	lo := 0
	for i, v := range smooth {
		if v < smooth[lo] {
			lo = i
		}
	}
	fell := first - smooth[lo]
	above := 0.25
	if smooth[lo] < 0 {
		above = 1 // what is above the beginning is no explosion where the loss goes below zero
	}
	noise := spread(pts[:lo+1], smooth[:lo+1])
	if lo < 4 || fell < 0.07*first || fell < 4*noise || run.Median(tail)-first < -0.25*fell || run.Median(tail)-first > above*fell || slices.Max(tail)-slices.Min(tail) > 0.15*fell {
		return nil
	}
	at := pts[onset(smooth, lo, smooth[lo], noise)]
	return found(f, at, 0.7, "collapsed", report.Diverged, fmt.Sprintf("The loss had fallen from %.4g to %.4g, rose back to %.4g and stands there.", first, smooth[lo], run.Median(tail)), pts[len(pts)-1].Ref)
}

// perCent are the words of scores that run to 100.
var perCent = regexp.MustCompile(`(?i)(?:acc|prec)\w*@\d|\btop-?\d|%`)

// isUniform reports whether an accuracy and a cross entropy belong to uniform
// guesses. Near one half hard problems come close to it, too: there both must fit.
func isUniform(acc, loss float64) bool {
	tolerance := 0.1
	if acc > 0.3 {
		tolerance = 0.015
	}
	return acc > 1e-5 && acc < 0.56 && math.Abs(math.Log(acc)+loss) < tolerance
}

// share are the values of an accuracy on the scale 0..1.
func share(s *run.Series) []float64 {
	if !s.Finite() || s.Min.Value < 0 || s.Max.Value > 100.001 {
		return nil
	}
	v := s.Values()
	if s.Max.Value > 1.0001 || s.Max.Value > 0.3 && strings.Contains(s.Name, "%") {
		for i := range v {
			v[i] /= 100
		}
	}
	return v
}

// longTold is how many readings of an AUC of one half are no beginning any more.
const longTold = 10

// sameScore finds an evaluation score that is the same number each time while
// the training loss stands still: the model says one and the same of every sample.
func sameScore(f *casefile.File) []failure.Sighting {
	loss := f.Series("loss")
	for _, s := range f.AllSeries() {
		if !s.Finite() || s.NonFinite > 0 || s.Count < 6 || s.Min.Value != s.Max.Value || !failure.PoorScore(s.Name, s.Last.Value) {
			continue
		}
		if s.Count >= longTold && s.Last.Value == 0.5 && strings.HasSuffix(strings.ToLower(s.Name), "auc") {
			return found(f, s.Last, 0.7, "collapsed", report.Degraded, fmt.Sprintf("%s is exactly one half in all of %d readings: the model says the same of every sample.", run.Name(s.Name), s.Count), s.First.Ref)
		}
		if !loss.Finite() || loss.Count < s.Count {
			continue
		}
		v := loss.Values()
		first, last := run.Median(v[:max(1, len(v)/4)]), run.Median(v[len(v)-max(1, len(v)/4):])
		if last < 0.96*first || first <= 0 || objectiveChanges(f) {
			continue // it learns something
		}
		return found(f, s.Last, 0.7, "collapsed", report.Degraded, fmt.Sprintf("%s is %.6g in all of %d evaluations and the loss does not move from %.4g: the model says the same of every sample.", run.Name(s.Name), s.Last.Value, s.Count, last), s.First.Ref, loss.Last.Ref)
	}
	return nil
}
