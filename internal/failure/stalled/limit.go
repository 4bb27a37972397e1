package stalled

import (
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
)

// limitBeforeFirstStep finds a job that its limit ended before a single training
// step was reported: it spent all of its time waiting for something.
func limitBeforeFirstStep(f *casefile.File) []failure.Sighting {
	if m := f.Main(); m != nil && (m.Progress().Step > 0 || m.Progress().Epoch > 0 || m.Progress().Readings > 2) || failed(f) || completed(f) {
		return nil
	}
	for _, s := range f.Logs() {
		for i, l := range s.Tail {
			if i == 0 || !strings.Contains(l.Text, "DUE TO TIME LIMIT") {
				continue
			}
			before := s.Tail[i-1]
			v := sight(0.9, "", before, "The job's time limit came before the first training step: this is the last thing that it had said.")
			v.Also = append(v.Also, l.Ref)
			return []failure.Sighting{v}
		}
	}
	return nil
}
