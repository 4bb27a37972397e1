package datapipeline

import (
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// labelColumn reports what the check of the label column found, which the user
// asked for with --target: ids out of range end a run sooner or later, missing
// or single-class labels spoil it.
func labelColumn(f *casefile.File) []failure.Sighting {
	var out []failure.Sighting
	for _, v := range f.FactsUnder("labels.problem") {
		w := 0.6
		if strings.Contains(v.Value, "out of range") {
			w = 0.82
		}
		out = append(out, failure.Sighting{
			Type: report.AnomalyDataError, Severity: report.High, Role: report.RoleCause, Weight: w, Cause: "label-form", Rank: run.NoRank, Step: -1,
			Ref: v.From, Text: v.Value, Says: "The label column does not fit: " + v.Value + ".", Status: report.Degraded,
		})
	}
	return out
}
