package naninf

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var detectors = []failure.Detector{
	{Name: "loss-non-finite", Doc: "A loss column is NaN or Inf and stays so to the end.", Run: lossNonFinite},
	{Name: "loss-masked-zero", Doc: "A loss that fell to exactly 0 while another metric is NaN: the logger hides NaN as 0.", Run: lossMasked},
	{Name: "loss-vanished", Doc: "The loss column stopped while the steps went on and NaN iterations are counted.", Run: lossVanished},
	{Name: "no-finite-gradient", Doc: "The gradient norm is non-finite in every reading, or the loss scale decayed to 0, and nothing is learnt.", Run: noFiniteGradient},
	{Name: "nan-iterations", Doc: "The framework's own counter of NaN iterations rises.", Run: nanIterations},
}

// staysFor is how many last values must be non-finite before a series counts as
// lost: one or two are what a skipped fp16 step leaves.
const staysFor = 3

// lossNonFinite looks at every loss that training reports, each rank's.
func lossNonFinite(f *casefile.File) []failure.Sighting {
	var out []failure.Sighting
	for _, s := range f.AllSeries() {
		if !isLoss(s.Name) || s.FirstNonFinite == nil {
			continue
		}
		stays := s.NonFiniteAtEnd >= staysFor || s.NonFiniteAtEnd == s.Count && s.Count > 0 && (s.Count >= 2 || everyLossLost(f))
		if !stays {
			continue
		}
		p := firstOfLastRun(s.Series)
		says := fmt.Sprintf("%s is %v from %s on and never recovers (%d of %d values).", run.Name(s.Name), p.Value, at(p.Step), s.NonFiniteAtEnd, s.Count)
		if s.LastFinite != nil {
			says += fmt.Sprintf(" The last finite value was %.4g.", s.LastFinite.Value)
		}
		w, status := 0.8, report.Diverged
		if strings.HasPrefix(s.Name, "eval") {
			w = 0.45
			if t := f.Series("loss"); t.Finite() && t.NonFiniteAtEnd == 0 {
				status = report.Degraded
			}
		}
		out = append(out, failure.Sighting{
			Type: report.AnomalyNaNInf, Severity: report.Blocker, Role: report.RoleCause, Weight: w, Cause: when(f, p.Step),
			Rank: s.Rank, Step: p.Step, Ref: p.Ref, Says: says, Text: f.TextAt(p.Ref), Status: status, YieldsTo: explained(f),
		})
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Step < out[j].Step })
	return first(out, 3)
}

// explained lists the class that explains a loss without a value: where every
// label is masked there is nothing to take the mean of.
func explained(f *casefile.File) []report.Class {
	if f.Has("all-labels-masked") {
		return []report.Class{report.DataPipeline}
	}
	return nil
}

func first(s []failure.Sighting, n int) []failure.Sighting {
	if len(s) > n {
		return s[:n]
	}
	return s
}

// everyLossLost reports whether no loss of the run is finite at its end.
func everyLossLost(f *casefile.File) bool {
	for _, s := range f.AllSeries() {
		if isLoss(s.Name) && s.NonFiniteAtEnd == 0 {
			return false
		}
	}
	return true
}

// isLoss tells a loss that training minimises from names that merely hold the word.
func isLoss(name string) bool {
	n := strings.ToLower(name)
	if strings.Contains(n, "scale") || strings.Contains(n, "best") || strings.Contains(n, "count") || strings.Contains(n, "aux") {
		return false
	}
	switch n {
	case "nll", "ppl", "perplexity", "cost", "box", "obj", "cls", "dfl": // the last four are YOLO's
		return true
	}
	return strings.Contains(n, "loss")
}

// firstOfLastRun is the point at which the last unbroken stretch of non-finite
// values begins, as far as it was kept.
func firstOfLastRun(s *run.Series) run.Point {
	p := *s.FirstNonFinite
	if s.NonFinite == s.NonFiniteAtEnd {
		return p
	}
	for _, q := range slices.Backward(s.Points()) {
		if !math.IsNaN(q.Value) && !math.IsInf(q.Value, 0) {
			break
		}
		p = q
	}
	return p
}

// lossMasked finds loss 0 with NaN beside it: logging_nan_inf_filter and scripts
// that print nan as 0.
func lossMasked(f *casefile.File) []failure.Sighting {
	loss := f.Series("loss")
	if loss == nil || loss.Kept() < 2 {
		return nil
	}
	zeros, start := 0, run.Point{}
	before := math.NaN()
	pts := loss.Points()
	if n := len(pts); n > 4 && pts[n-1].Value != 0 && pts[n-2].Value == 0 && pts[n-3].Value == 0 {
		pts = pts[:n-1] // the mean that a summary states
	}
	for _, p := range slices.Backward(pts) {
		if p.Value != 0 {
			before = p.Value
			break
		}
		zeros, start = zeros+1, p
	}
	other := nonFiniteBeside(f, start.Step)
	switch {
	case zeros == 0, math.IsNaN(before) && other == "":
		return nil
	case other == "" && (zeros < 3 || before < 0.05 || allZero(f)):
		return nil
	}
	says := fmt.Sprintf("loss is exactly 0 from %s on (%d values)", at(start.Step), zeros)
	w := 0.62
	if other != "" {
		says += fmt.Sprintf(" while %s is NaN", other)
		w = 0.84
	}
	return []failure.Sighting{{
		Type: report.AnomalyNaNInf, Severity: report.Blocker, Role: report.RoleCause, Weight: w, Cause: when(f, start.Step), Rank: run.NoRank,
		Step: start.Step, Ref: start.Ref, Says: says + ": the logger masks NaN as 0.", Text: f.TextAt(start.Ref), Status: report.Diverged, YieldsTo: explained(f),
	}}
}

// allZero reports whether accuracy or the evaluation loss ended at exactly 0 as
// well: then nothing was computed at all.
func allZero(f *casefile.File) bool {
	for _, name := range []string{"accuracy", "eval_loss", "eval_accuracy"} {
		if s := f.Series(name); s != nil && s.Count > 0 && s.Last.Value == 0 {
			return true
		}
	}
	return false
}

// nonFiniteBeside names a training metric that is non-finite to its end from
// about the given step on; averages that one overflow spoils do not count.
func nonFiniteBeside(f *casefile.File, step int64) string {
	for _, s := range f.AllSeries() {
		if s.FirstNonFinite != nil && s.NonFiniteAtEnd > 0 && s.Name != "loss" && (s.FirstNonFinite.Step >= step-1 || step < 0 || s.NonFiniteAtEnd >= staysFor) {
			return s.Name
		}
	}
	return ""
}

// lossVanished finds loggers that print no loss when it is NaN.
func lossVanished(f *casefile.File) []failure.Sighting {
	m := f.Main()
	if m == nil {
		return nil
	}
	loss := m.Series["loss"]
	if norm := m.Series["grad_norm"]; loss == nil && norm != nil && norm.Count >= 5 && norm.NonFinite == norm.Count {
		return []failure.Sighting{{
			Type: report.AnomalyNaNInf, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.78, Cause: when(f, norm.First.Step), Rank: run.NoRank, Step: norm.First.Step,
			Ref: norm.First.Ref, Text: f.TextAt(norm.First.Ref), Status: report.Diverged,
			Says: fmt.Sprintf("The gradient norm is NaN in all of %d readings and no loss is printed: this logger prints no loss when it is NaN.", norm.Count),
		}}
	}
	if loss == nil || loss.Count < 3 || loss.Last.Step <= loss.First.Step {
		return nil
	}
	every := float64(loss.Last.Step-loss.First.Step) / float64(loss.Count-1)
	silent := float64(m.LastStep - loss.Last.Step)
	counter := m.Series["nan_iterations"]
	norm := m.Series["grad_norm"]
	proof := counter != nil && counter.Last.Value > counter.First.Value || norm != nil && norm.NonFiniteAtEnd >= staysFor
	if silent < 3*every || !proof || norm != nil && norm.Last.Ref == loss.Last.Ref {
		return nil // the last line of metrics has a loss
	}
	return []failure.Sighting{{
		Type: report.AnomalyNaNInf, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.85, Cause: when(f, loss.Last.Step), Rank: run.NoRank, Step: loss.Last.Step,
		Ref: loss.Last.Ref, Text: f.TextAt(loss.Last.Ref), Status: report.Diverged,
		Says: fmt.Sprintf("The loss column vanished after step %d while steps went on to %d: this logger prints no loss when it is NaN.", loss.Last.Step, m.LastStep),
	}}
}

func nanIterations(f *casefile.File) []failure.Sighting {
	s := f.Series("nan_iterations")
	if s == nil || s.Last.Value < 3 || s.Last.Value <= s.First.Value {
		return nil
	}
	return []failure.Sighting{{
		Type: report.AnomalyNaNInf, Severity: report.High, Role: report.RoleCause, Weight: 0.7, Cause: when(f, s.Last.Step), Rank: run.NoRank, Step: s.Last.Step, Ref: s.Last.Ref,
		Text: f.TextAt(s.Last.Ref), Says: fmt.Sprintf("%.0f NaN iterations were counted by step %d.", s.Last.Value, s.Last.Step), Status: report.Diverged,
	}}
}

// when picks the cause by the seeds' rule of thumb: within the first 100 steps
// it is learning rate, precision or the scale of the data; after many stable
// steps a gradient explosion or a bad batch. A loss that had settled over twenty
// values is stable whatever its step.
func when(f *casefile.File, step int64) string {
	if m := f.Main(); step < 0 || m == nil {
		return ""
	}
	if step > 100 || settled(f.Series("loss")) {
		return "late-nan"
	}
	return "early-nan"
}

func settled(s *run.Series) bool {
	if s == nil || s.FirstNonFinite == nil {
		return false
	}
	var v []float64
	for _, p := range s.Points() {
		if math.IsNaN(p.Value) || math.IsInf(p.Value, 0) {
			break
		}
		v = append(v, p.Value)
	}
	if len(v) < 20 {
		return false
	}
	return slices.Max(v[len(v)-10:]) <= v[0]
}

func at(step int64) string {
	if step < 0 {
		return "the start"
	}
	return fmt.Sprintf("step %d", step)
}

// noFiniteGradient finds a run whose every update is skipped: all gradient norms
// are NaN or Inf, or the loss scale has been halved to nothing, while the loss,
// finite as it is, does not move.
func noFiniteGradient(f *casefile.File) []failure.Sighting {
	loss := f.Series("loss")
	if !loss.Finite() || loss.NonFinite > 0 || loss.Count < 10 {
		return nil
	}
	v := loss.Values()
	third := max(1, len(v)/3)
	if run.Median(v[len(v)-third:]) < 0.97*run.Median(v[:third]) {
		return nil // it learns: a norm that is not computed is printed so, too
	}
	for _, s := range f.AllSeries() {
		n := strings.ToLower(s.Name)
		norm := strings.Contains(n, "grad") && strings.Contains(n, "norm") && s.Count >= 10 && s.NonFinite == s.Count
		scale := (n == "scale" || strings.HasSuffix(n, "loss_scale") || strings.HasSuffix(n, "grad_scale") || n == "scaler") && s.Count >= 10 && s.NonFinite == 0 && s.Max.Value >= 2 && s.Last.Value < 1e-6
		if !norm && !scale {
			continue
		}
		says := fmt.Sprintf("%s is NaN or Inf in all of %d readings and the loss stands at %.4g: no update was made.", run.Name(s.Name), s.Count, loss.Last.Value)
		if scale {
			says = fmt.Sprintf("%s was halved from %.4g to %.2g and the loss stands at %.4g: each update overflowed and was skipped.", run.Name(s.Name), s.Max.Value, s.Last.Value, loss.Last.Value)
		}
		return []failure.Sighting{{
			Type: report.AnomalyNaNInf, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.84, Cause: "fp16-overflow", Rank: s.Rank, Step: s.First.Step, Ref: s.First.Ref, Text: f.TextAt(s.First.Ref),
			Also: []run.Ref{s.Last.Ref}, Says: says, Status: report.Degraded, YieldsTo: explained(f),
		}}
	}
	return nil
}
