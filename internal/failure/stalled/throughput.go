package stalled

import (
	"fmt"
	"slices"

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
		early, late := middle(v[len(v)/10:len(v)/3]), middle(v[len(v)-len(v)/5:])
		if early <= 0 || late > 0.5*early || slices.Max(v[len(v)-len(v)/5:]) > 0.8*early {
			continue
		}
		return []failure.Sighting{{
			Type: report.AnomalySlowThroughput, Severity: report.Medium, Role: report.RoleContext, Weight: 0.3, Rank: run.NoRank, Step: s.Last.Step, Ref: s.Last.Ref, Text: f.TextAt(s.Last.Ref),
			Says: fmt.Sprintf("throughput collapsed: %s fell from %.3g to %.3g while the loss went on as before, which points to the data loader or the storage", name, early, late),
		}}
	}
	return nil
}

func middle(v []float64) float64 {
	w := slices.Clone(v)
	slices.Sort(w)
	return w[len(w)/2]
}
