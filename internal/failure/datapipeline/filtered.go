package datapipeline

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// nearlyAllFiltered compares what a filter threw away with what it left: twenty
// times as much is a wrong limit or unit, not a cleaning.
func nearlyAllFiltered(f *casefile.File) []failure.Sighting {
	for _, e := range append(f.EventsOf("samples-filtered"), f.EventsOf("images-removed")...) {
		dropped := count(e.Groups["dropped"])
		kept := count(e.Groups["kept"])
		var also []run.Ref
		if e.Groups["kept"] == "" {
			k := keptBefore(f, e)
			if k == nil {
				continue
			}
			kept, also = count(k.Groups["kept"]), append(also, k.Ref)
		}
		if all := count(e.Groups["all"]); all > 0 {
			dropped = all - kept
		}
		if dropped < 1000 || float64(dropped) < 20*float64(kept) {
			continue
		}
		return unused(e, 0.72, "empty-dataset", fmt.Sprintf("%d samples were filtered out and %d are left to train on.", dropped, kept), also...)
	}
	return nil
}

// keptBefore is the line that tells what was loaded, next to the one that tells
// what was filtered.
func keptBefore(f *casefile.File, e *casefile.Event) *casefile.Event {
	for _, k := range f.EventsOf("samples-kept") {
		if k.Stream == e.Stream && k.Order-e.Order < 4 && e.Order-k.Order < 4 {
			return k
		}
	}
	return nil
}

func count(s string) int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, ",", ""), 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// annotationsLost finds annotated spans that the tokenizer could not place, and a
// score of entities that stays at nothing: hardly one of them reached the model.
func annotationsLost(f *casefile.File) []failure.Sighting {
	lost := f.EventsOf("spacy-misaligned-entities")
	if len(lost) == 0 {
		return nil
	}
	for _, name := range []string{"ENTS_F", "SPANS_SC_F", "SCORE"} {
		s := f.Series(name)
		if !s.Finite() || s.Count < 3 || s.Max.Value > 2 || s.Max.Value <= 1 && s.Max.Value > 0.02 {
			continue
		}
		return unused(lost[0], 0.76, "spans-misaligned", fmt.Sprintf("Annotated spans do not lie on token boundaries and were left out, and %s is %.2g in all of %d evaluations.", name, s.Max.Value, s.Count), s.Last.Ref)
	}
	return nil
}

// labelsUnseen finds training images of which nearly all count as background while
// those of the validation have labels: their label files are not where, or not
// named as, the loader looks.
func labelsUnseen(f *casefile.File) []failure.Sighting {
	val := f.EventsOf("validation-images-labelled")
	for _, e := range f.EventsOf("images-without-labels") {
		kept, dropped := count(e.Groups["kept"]), count(e.Groups["dropped"])
		if dropped < 50 || dropped < 4*kept || len(val) == 0 || count(val[0].Groups["dropped"]) > count(val[0].Groups["kept"]) {
			continue
		}
		return unused(e, 0.76, "labels-unseen", fmt.Sprintf("%d of %d training images count as background, but hardly one of the validation.", dropped, dropped+kept), val[0].Ref)
	}
	return nil
}

// unused is a line that says that data did not reach the model.
func unused(e *casefile.Event, weight float64, cause, says string, also ...run.Ref) []failure.Sighting {
	return []failure.Sighting{{
		Type: report.AnomalyDataError, Severity: report.High, Role: report.RoleCause, Weight: weight, Cause: cause, Rank: e.Rank,
		Step: -1, Ref: e.Ref, Text: e.Text, Also: also, Status: report.Degraded, Says: says,
	}}
}
