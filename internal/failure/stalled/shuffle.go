package stalled

import (
	"fmt"
	"strconv"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/run"
)

// tooLongToFill is how long the filling of a shuffle buffer may still take.
const tooLongToFill = 6 * time.Hour

// shuffleBufferFills finds a run that waits for its first batch until a shuffle
// buffer is full, at a rate that would take many hours more.
func shuffleBufferFills(f *casefile.File) []failure.Sighting {
	events := f.EventsOf("shuffle-buffer-filling")
	if len(events) < 3 || failed(f) {
		return nil
	}
	first, last := events[0], events[len(events)-1]
	if f.WentOn(last.Stream, last.Rank, 0, first.At) {
		return nil
	}
	had, want := atoi(first.Groups["have"]), atoi(last.Groups["want"])
	have, took := atoi(last.Groups["have"]), last.At.Sub(first.At)
	if have <= had || took < 30*time.Minute || want <= have {
		return nil
	}
	left := time.Duration(float64(want-have) / float64(have-had) * float64(took))
	if left < tooLongToFill {
		return nil
	}
	v := sight(0.74, "input-starves", casefile.Line{Ref: last.Ref, Rank: last.Rank, Text: last.Text},
		fmt.Sprintf("After %s the shuffle buffer holds %d of %d samples and no step was made: at that rate the first batch comes in %s.", took.Round(time.Minute), have, want, left.Round(time.Hour)))
	v.Also = []run.Ref{first.Ref}
	return []failure.Sighting{v}
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
