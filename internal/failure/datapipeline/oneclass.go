package datapipeline

import (
	"fmt"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/run"
)

// minPerfect is how many readings of a perfect training score are no chance.
const minPerfect = 10

// nothingToLearn finds a training score that was perfect from the first reading on,
// though the loss of that moment was not small, and a loss that then went to
// nothing: the labels that reach the model are all one and the same.
func nothingToLearn(f *casefile.File) []failure.Sighting {
	loss := f.Series("loss")
	if !loss.Finite() || loss.NonFinite > 0 || loss.First.Value < 0.3 || loss.Last.Value > 1e-3 || f.Value("run.resumed") == "true" {
		return nil
	}
	for _, s := range f.AllSeries() {
		n := strings.ToLower(s.Name)
		if strings.HasPrefix(n, "eval") || strings.HasPrefix(n, "val") || !strings.Contains(n, "acc") || !s.Finite() || s.Count < minPerfect || s.Min.Value != s.Max.Value {
			continue
		}
		if s.Last.Value != 1 && s.Last.Value != 100 || s.First.Step > loss.First.Step {
			continue
		}
		e := casefile.Event{Ref: s.First.Ref, Rank: run.NoRank, Text: f.TextAt(s.First.Ref)}
		return unused(&e, 0.74, "labels-alike", fmt.Sprintf("%s is %g from the first reading on, at a loss of %.3g that then went to %.2g: there was nothing to tell apart.", run.Name(s.Name), s.Last.Value, loss.First.Value, loss.Last.Value), loss.Last.Ref)
	}
	return nil
}
