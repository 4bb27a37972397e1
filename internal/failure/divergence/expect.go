package divergence

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// offExpectation compares the first loss with what the task lets expect of a
// model that knows nothing: ln(classes), ln(vocabulary), the target's variance.
// It needs the user's --task, and is a factor rather than a failure.
func offExpectation(f *casefile.File) []failure.Sighting {
	loss := f.Series("loss")
	if loss == nil || !loss.Finite() || f.Value("run.resumed") == "true" {
		return nil
	}
	first := loss.First
	says := ""
	switch f.Task {
	case "classification":
		if n := number(f, "config.num_labels", "config.num_classes", "config.nc", "labels.count", "labels.classes"); n > 1 && first.Value > 3*math.Log(n) {
			says = fmt.Sprintf("the first loss %.3g lies far above ln(%.0f classes) = %.2f: outputs or labels are not on the scale that the loss expects", first.Value, n, math.Log(n))
		} else if acc := f.Series("accuracy"); n > 1 && acc.Finite() && acc.Count > 5 && acc.Max.Value < 1.3/n {
			says = fmt.Sprintf("accuracy never left chance (%.3g with %.0f classes): the model does not learn", acc.Max.Value, n)
		}
	case "language-modeling":
		if n := number(f, "config.vocab_size", "config.padded_vocab_size"); n > 1 && first.Value > 1.5*math.Log(n) {
			says = fmt.Sprintf("the first loss %.3g lies far above ln(%.0f tokens) = %.2f", first.Value, n, math.Log(n))
		}
	case "regression":
		if first.Value > 1e4 {
			says = fmt.Sprintf("the first loss %.3g is the square of an unscaled target", first.Value)
		}
	}
	if says == "" {
		return nil
	}
	return []failure.Sighting{{
		Type: report.AnomalyDivergence, Severity: report.Low, Role: report.RoleContext, Weight: 0.3, Rank: run.NoRank, Step: first.Step, Ref: first.Ref, Text: f.TextAt(first.Ref), Says: says,
	}}
}

func number(f *casefile.File, keys ...string) float64 {
	for _, k := range keys {
		if n, err := strconv.ParseFloat(strings.TrimSpace(f.Value(k)), 64); err == nil {
			return n
		}
	}
	return 0
}
