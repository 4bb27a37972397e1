package stalled

import (
	"fmt"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// throughputCollapse finds a rate that fell below half of its early level and
// stayed there while the loss went on as before: the loader or the storage, not
// the model. It is a factor, not a failure.
func throughputCollapse(f *casefile.File) []failure.Sighting {
	loss := f.Series("loss")
	if loss != nil && loss.NonFinite > 0 {
		return nil
	}
	for _, name := range []string{"samples_per_second", "tokens_per_second", "steps_per_second"} {
		s := f.Series(name)
		if s == nil || s.Count < 20 {
			continue
		}
		v := s.Values()
		if len(v) < 20 {
			continue
		}
		early, late := run.Median(v[len(v)/10:len(v)/3]), run.Median(v[len(v)-len(v)/5:])
		if early <= 0 || late > 0.5*early || slices.Max(v[len(v)-len(v)/5:]) > 0.8*early {
			continue
		}
		role, weight := report.RoleContext, 0.3
		if late < early/6 && slices.Max(v[len(v)-max(6, len(v)/5):]) < early/3 && slices.Min(v[len(v)/10:len(v)/3]) > early/2 && !episodic(f) {
			role, weight = report.RoleCause, 0.62 // that is no slower phase of the same training
		}
		cause, says, also := "input-starves", "which points to the data loader or the storage", []run.Ref(nil)
		if hot := f.EventsOf("gpu-slowdown"); len(hot) > 0 {
			role, weight = report.RoleCause, 0.78
			cause, says, also = "gpu-throttled", "and the driver keeps a GPU below its clocks: all ranks wait for it", []run.Ref{hot[0].Ref}
		}
		return []failure.Sighting{{
			Type: report.AnomalySlowThroughput, Severity: report.Medium, Role: role, Weight: weight, Cause: cause, Status: report.Degraded, YieldsTo: []report.Class{report.DataPipeline, report.IOCheckpoint, report.CUDA}, Rank: run.NoRank, Step: s.Last.Step, Ref: s.Last.Ref, Text: f.TextAt(s.Last.Ref),
			Says: fmt.Sprintf("throughput collapsed: %s fell from %.3g to %.3g while the loss went on as before, %s", name, early, late, says), Also: also,
		}}
	}
	return nil
}

// episodic reports whether the run plays episodes: its rate falls when learning
// begins.
func episodic(f *casefile.File) bool {
	for _, s := range f.AllSeries() {
		if n := strings.ToLower(s.Name); strings.Contains(n, "rew") || strings.Contains(n, "episode") || strings.Contains(n, "ep_len") {
			return true
		}
	}
	return false
}
