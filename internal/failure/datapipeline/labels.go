package datapipeline

import (
	"slices"
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
	for _, v := range columnProblems(f) {
		w := 0.6
		if strings.Contains(v.Value, "out of range") {
			w = 0.82
		}
		out = append(out, failure.Sighting{
			Type: report.AnomalyDataError, Severity: report.High, Role: report.RoleCause, Weight: w, Cause: "label-form", Rank: run.NoRank, Step: -1,
			Ref: v.From, Text: v.Value, Says: "The label column does not fit: " + run.Quote(v.Value) + ".", Status: report.Degraded,
		})
	}
	return out
}

// columnProblems are the facts labels.COLUMN.problem. A line of the log that
// complains of labels sets labels.problem, which is no check of the column.
func columnProblems(f *casefile.File) []run.Fact {
	all := f.FactsUnder("labels.")
	return slices.DeleteFunc(all, func(v run.Fact) bool {
		return v.Key == "labels.problem" || !strings.HasSuffix(v.Key, ".problem")
	})
}

// labelsAtFault is the evidence that the labels themselves are the problem.
func labelsAtFault(f *casefile.File) (float64, []casefile.Evidence) {
	v, ok := f.Fact("labels.problem")
	if !ok {
		column := columnProblems(f)
		if len(column) == 0 {
			return 0, nil
		}
		v = column[len(column)-1]
	}
	return 0.4, []casefile.Evidence{{Ref: v.From, Rank: -1, Text: v.Value}}
}
