package config

import (
	"fmt"
	"math"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// scheduleOver finds a learning rate that is 0 long before the end of the run: the
// schedule was given fewer steps than the training has, and the rest trains nothing.
func scheduleOver(f *casefile.File) []failure.Sighting {
	s, m := f.Series("lr"), f.Main()
	if !s.Finite() || m == nil || s.Last.Value != 0 || s.Max.Value <= 0 || s.Kept() < 20 {
		return nil
	}
	pts := s.Points()
	zero, exact := len(pts), false
	for i := len(pts) - 1; i >= 0 && pts[i].Value == 0; i-- {
		zero = i
	}
	for _, p := range pts[:zero] {
		exact = exact || digits(p.Value)
	}
	from := pts[min(zero, len(pts)-1)]
	end := max(m.Progress().Total, s.Last.Step)
	if !exact || len(pts)-zero < 10 || zero == 0 || from.Step <= 0 || float64(from.Step) > 0.6*float64(end) {
		return nil
	}
	return untrained(0.72, "schedule-too-short", from, f.TextAt(from.Ref), fmt.Sprintf("The learning rate is 0 from step %d of %d on: the rest of the run trains nothing.", from.Step, end), s.Last.Ref)
}

// digits reports whether a number was printed with three significant digits or
// more: a learning rate in a few decimals may round to 0.
func digits(v float64) bool {
	if v <= 0 {
		return false
	}
	m := v / math.Pow(10, math.Floor(math.Log10(v))) * 100
	return math.Abs(math.Mod(math.Round(m), 10)) > 0
}

var rounded = regexp.MustCompile(`\b0\.00+(?:[^e\d]|$)`)

// rateIsZero finds a run whose every learning rate is 0 from the first reading to
// the last: it trains nothing.
func rateIsZero(f *casefile.File) []failure.Sighting {
	var first *run.Series
	for _, s := range f.AllSeries() {
		n := strings.ToLower(s.Name)
		if n != "lr" && n != "learning_rate" && !strings.HasPrefix(n, "lr/") && !strings.HasPrefix(n, "lr-") && !strings.HasSuffix(n, "/lr") {
			continue
		}
		if !s.Finite() || s.NonFinite > 0 || s.Max.Value != 0 || s.Min.Value != 0 {
			return nil
		}
		if first == nil || s.Count > first.Count {
			first = s.Series
		}
	}
	loss := f.Series("loss")
	if first != nil && rounded.MatchString(f.TextAt(first.First.Ref)) {
		return nil // "0.0000" may be a small rate
	}
	if first == nil || first.Count < 20 || !loss.Finite() || loss.Count < 10 {
		return nil
	}
	return untrained(0.74, "schedule-too-short", first.First, f.TextAt(first.First.Ref), fmt.Sprintf("%s is 0 in all of %d readings: no update changes anything.", run.Name(first.Name), first.Count), first.Last.Ref)
}

// roundsUnused finds boosting that ended after the default of ten rounds although
// a number of rounds was given, by a name that this interface does not read.
func roundsUnused(f *casefile.File) []failure.Sighting {
	e, m := f.EventsOf("xgboost-rounds-unused"), f.Main()
	if len(e) == 0 || m == nil || m.LastStep != defaultRounds-1 {
		return nil
	}
	return untrained(0.76, "rounds-unused", run.Point{Step: m.LastStep, Ref: e[0].Ref}, e[0].Text, fmt.Sprintf("The number of rounds was given by a name that is not read, and training ended after the default of %d.", defaultRounds), m.LastRef)
}

const defaultRounds = 10 // of xgboost.train

// untrained is a setting under which the run goes on or ends without an error and
// trains too little; text is the line at p.
func untrained(weight float64, cause string, p run.Point, text, says string, also run.Ref) []failure.Sighting {
	return []failure.Sighting{{
		Type: report.AnomalyLogError, Severity: report.High, Role: report.RoleCause, Weight: weight, Cause: cause, Rank: run.NoRank,
		Step: p.Step, Ref: p.Ref, Text: text, Also: []run.Ref{also}, Status: report.Degraded, Says: says,
	}}
}
