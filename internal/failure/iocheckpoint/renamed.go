package iocheckpoint

import (
	"fmt"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// underOtherNames finds a tolerant load whose missing keys are the unexpected
// ones under another prefix: the weights are there, and none of them was taken.
func underOtherNames(f *casefile.File) []failure.Sighting {
	for _, m := range f.EventsOf("load-missing-keys") {
		missing := keysOf(m.Groups["keys"])
		for _, u := range f.EventsOf("load-unexpected-keys") {
			if u.Stream != m.Stream || u.Order-m.Order > 6 || m.Order-u.Order > 6 {
				continue
			}
			unexpected := map[string]bool{}
			for _, k := range keysOf(u.Groups["keys"]) {
				for ; k != ""; _, k, _ = strings.Cut(k, ".") { // each suffix of whole parts
					unexpected[k] = true
				}
			}
			same := 0
			for _, k := range missing {
				if unexpected[k] || unexpected[afterFirst(k)] {
					same++
				}
			}
			if same < 4 || 2*same < len(missing) {
				continue
			}
			return []failure.Sighting{{
				Type: report.AnomalyCheckpointFailure, Severity: report.High, Role: report.RoleCause, Weight: 0.84, Cause: "loaded-nothing", Rank: m.Rank, Step: -1, Ref: m.Ref, Text: m.Text,
				Also: []run.Ref{u.Ref}, Status: report.Degraded,
				Says: fmt.Sprintf("%d of the keys that the model misses are in the file under another prefix, so the load skipped them and the run goes on from fresh weights.", same),
			}}
		}
	}
	return nil
}

// afterFirst drops the first part of a key that has several more.
func afterFirst(k string) string {
	if _, rest, ok := strings.Cut(k, "."); ok && strings.Count(rest, ".") >= 2 {
		return rest
	}
	return "\x00"
}

// keysOf splits a printed list of keys. The last one may be cut.
func keysOf(list string) []string {
	list, _, _ = strings.Cut(list, "]")
	var out []string
	for k := range strings.SplitSeq(list, ",") {
		if k = strings.Trim(k, " '\"[]…"); strings.Contains(k, ".") && len(out) < 200 {
			out = append(out, k)
		}
	}
	return out
}

// resumedFresh compares the loss before and after a resume: a run that goes on at
// its step with several times the loss did not get its weights back.
func resumedFresh(f *casefile.File) []failure.Sighting {
	var before, after *casefile.RankReader
	for _, s := range f.Logs() {
		for _, r := range s.Readers {
			l := r.Series["loss"]
			if l == nil || l.Count < 5 || !l.Finite() || l.NonFinite > 0 {
				continue
			}
			switch {
			case l.First.Step > 200 && (after == nil || l.First.Step > after.Series["loss"].First.Step):
				before, after = after, r
			case before == nil || r.LastStep > before.LastStep:
				before = r
			}
		}
	}
	if before == nil || after == nil || before == after {
		return nil
	}
	a, b := before.Series["loss"], after.Series["loss"]
	kept := a.Values()
	level := run.Median(kept[max(0, len(kept)-5):])
	gap := b.First.Step - a.Last.Step
	if a.First.Ref.File == b.First.Ref.File || gap < 0 || gap > 2*(b.Last.Step-b.First.Step) || level <= 0 || b.First.Value < 3*level || b.First.Value-level < 1.5 || b.Last.Value < 1.3*level {
		return nil
	}
	return []failure.Sighting{{
		Type: report.AnomalyCheckpointFailure, Severity: report.High, Role: report.RoleCause, Weight: 0.78, Cause: "loaded-nothing", Rank: after.Rank, Step: b.First.Step, Ref: b.First.Ref, Text: f.TextAt(b.First.Ref),
		Also: []run.Ref{a.Last.Ref}, Status: report.Degraded, YieldsTo: []report.Class{report.OOM, report.CUDA},
		Says: fmt.Sprintf("The run goes on at step %d with a loss of %.4g, where it had %.4g at step %d: the step was restored and the weights were not.", b.First.Step, b.First.Value, level, a.Last.Step),
	}}
}
