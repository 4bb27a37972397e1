package casefile

import (
	"fmt"
	"slices"

	"github.com/trainmedic/trainmedic/internal/run"
)

// Bounds over all streams of a case file, so that no log, whatever is in it, makes
// it grow without end. The largest runs have some ten thousand ranks.
const (
	maxRanks   = 20_000 // that have a reader of their own; the others' lines count for their log
	maxEvents  = 50_000
	maxOfSign  = 4_000  // events of one sign
	mostSeries = 20_000 // series of all ranks together
	fullSeries = 800    // of them keep as many points as a series may
	thinPoints = 128    // of the others
	maxChain   = 100    // exceptions that were raised while the one before was handled
	maxGaps    = 500

	maxCheckpoints = 1_000
	maxProcesses   = 5_000
)

// rankOf is the rank that a line counts for: its own, unless there are too many.
func (rd *reading) rankOf(rank int) int {
	switch {
	case rank == run.NoRank || rank == rd.s.Rank:
		return rd.s.Rank
	case rd.readers.get(rank) == nil && rd.f.ranks >= maxRanks:
		rd.f.full("the lines of some ranks", fmt.Sprintf("they name more than %d ranks; the rest were read as the log's own", maxRanks), "a log of the ranks that matter")
		return rd.s.Rank
	}
	return rank
}

// room makes a series of a log if there may be one more, else nil.
func (f *File) room(name string) *run.Series {
	if f.kinds >= mostSeries {
		f.full("some metrics", fmt.Sprintf("the logs have more than %d of all ranks together; those that came later were not kept", mostSeries), "a log of the rank that matters")
		return nil
	}
	f.kinds++
	s := &run.Series{Name: name}
	if f.kinds > fullSeries {
		s.Most = thinPoints
	}
	return s
}

// mayFile reports whether there is room for one more event of a sign.
func (f *File) mayFile(s *Sign) bool {
	if f.ofSign[s] >= maxOfSign || len(f.Events) >= maxEvents {
		f.full("some lines of failures", fmt.Sprintf("there are more than %d that differ; those that came later were not kept", maxOfSign), "a log of the ranks that matter")
		return false
	}
	if f.ofSign == nil {
		f.ofSign = map[*Sign]int{}
	}
	f.ofSign[s]++
	return true
}

// addCheckpoints takes saved states, which come in the order of their steps; of very
// many the last ones are kept.
func (f *File) addCheckpoints(c []run.Checkpoint) {
	f.Checkpoints = append(f.Checkpoints, c...)
	if over := len(f.Checkpoints) - maxCheckpoints; over > 0 {
		f.Checkpoints = slices.Delete(f.Checkpoints, 0, over)
		f.full("some checkpoints", fmt.Sprintf("there are more than %d; those of the highest steps were kept", maxCheckpoints), "the folder of this run alone")
	}
}

// full says once that something is not kept.
func (f *File) full(what, why, ask string) {
	if f.told[what] {
		return
	}
	if f.told == nil {
		f.told = map[string]bool{}
	}
	f.told[what] = true
	f.gap(run.Gap{What: what, Why: why, Ask: ask})
}

// gap keeps what could not be seen; of very many the first ones and their number.
func (f *File) gap(gaps ...run.Gap) {
	for _, g := range gaps {
		if len(f.Gaps) < maxGaps {
			f.Gaps = append(f.Gaps, g)
			continue
		}
		f.lost++
		f.Gaps[maxGaps-1] = run.Gap{What: "more of the run", Why: fmt.Sprintf("%d more gaps like those before", f.lost+1), Ask: "what is named before; the rest may come with it"}
	}
}
