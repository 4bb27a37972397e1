package iocheckpoint

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

// bestModelLost finds a run that ended with the weights of its last step in the
// place of its best ones: the best checkpoint was gone, the Trainer only warned,
// and what it evaluated last is a tenth or more away from the best score.
func bestModelLost(f *casefile.File) []failure.Sighting {
	missing, loading := f.EventsOf("best-model-missing"), f.EventsOf("loading-best-model")
	if len(missing) == 0 || len(loading) == 0 {
		return nil
	}
	best, err := strconv.ParseFloat(loading[len(loading)-1].Groups["score"], 64)
	if err != nil || best == 0 {
		return nil
	}
	var last *run.Series
	for _, s := range f.AllSeries() {
		if !strings.HasPrefix(s.Name, "eval_") || !s.Finite() || s.Count < 2 {
			continue
		}
		if near(s.Last.Value, best, 0.02) {
			return nil // what was kept is as good
		}
		if near(s.Min.Value, best, 0.002) || near(s.Max.Value, best, 0.002) {
			last = s.Series
		}
	}
	if last == nil || near(last.Last.Value, best, 0.1) {
		return nil
	}
	e := missing[len(missing)-1]
	return []failure.Sighting{{
		Type: report.AnomalyCheckpointFailure, Severity: report.High, Role: report.RoleCause, Weight: 0.8, Cause: "checkpoint-path-missing", Rank: e.Rank, Step: -1,
		Ref: e.Ref, Text: e.Text, Also: []run.Ref{loading[len(loading)-1].Ref, last.Last.Ref}, Status: report.Degraded,
		Says: fmt.Sprintf("The best checkpoint (%s %.4g) was gone when it was to be loaded; the run kept its last weights instead (%.4g).", run.Name(last.Name), best, last.Last.Value),
	}}
}

// near reports whether two values differ by no more than a part of the second.
func near(a, b, part float64) bool { return math.Abs(a-b) <= part*math.Abs(b) }
