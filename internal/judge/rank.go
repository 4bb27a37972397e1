package judge

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// failingRank is the rank that failed first: the one whose line proves the
// cause, else the one that shows the same error, else what exits and the list
// of the ranks that merely waited leave over. What a launcher calls the first
// failure is taken only when nothing else tells: it names survivors.
func failingRank(f *casefile.File, primary *suspect, all []*suspect) int {
	for _, ask := range []func() int{
		func() int { return firstRank(primary, all) },
		func() int { return rankOfMessage(primary, all) },
		func() int { return rankByExit(f.Exits, primary, waited(all)) },
		func() int { return absentee(f, primary, all) },
		func() int { return onlyRank(f) },
	} {
		if r := ask(); r != run.NoRank {
			return r
		}
	}
	return run.NoRank
}

// firstRank is the primary's own rank, or the earliest of those that show the
// same sign.
func firstRank(primary *suspect, all []*suspect) int {
	first := primary
	for _, s := range all {
		if s.recovered || s.class != primary.class || s.id != primary.id || s.rank == run.NoRank {
			continue
		}
		if first.rank == run.NoRank || s.compare(first) < 0 {
			first = s
		}
	}
	return first.rank
}

// rankOfMessage finds the primary's message in a line that names its rank, such
// as a watchdog that repeats the exception.
func rankOfMessage(primary *suspect, all []*suspect) int {
	for _, p := range all {
		if p.class != primary.class || p.recovered {
			continue
		}
		_, msg, ok := strings.Cut(p.text, ": ")
		msg = strings.TrimSpace(msg)
		if !ok || len(msg) < 15 {
			continue
		}
		for _, s := range all {
			if s.rank != run.NoRank && !s.recovered && strings.Contains(s.text, msg) {
				return s.rank
			}
		}
	}
	return run.NoRank
}

// waited are the ranks whose lines say no more than that a peer did not answer.
func waited(all []*suspect) map[int]bool {
	out := map[int]bool{}
	for _, s := range all {
		if s.recovered || s.class != report.NCCL {
			continue
		}
		if s.rank != run.NoRank {
			out[s.rank] = true
		}
		for _, m := range namedRank.FindAllStringSubmatch(s.text, -1) {
			if n, err := strconv.Atoi(m[1]); err == nil {
				out[n] = true
			}
		}
	}
	return out
}

var namedRank = regexp.MustCompile(`(?i)(?:\bon rank |\[rank |\[rank)(\d+)`)

// rankByExit prefers a process that a signal of its own ended (not an abort or a
// termination: survivors die of those), then one that did not merely wait, then
// the launcher's claim. Reports of the node that proves the cause come first.
func rankByExit(exits []casefile.Exit, primary *suspect, waited map[int]bool) int {
	best, grade := run.NoRank, 0
	for _, e := range exits {
		rank := e.Rank
		if rank == run.NoRank {
			rank = e.Local
		}
		g := 10
		switch {
		case rank == run.NoRank || e.Code == -15 || e.Code == 143:
			continue
		case e.Code < 0 && e.Code != -6:
			g += 40
		case e.Code == -6:
			g -= 5
		}
		if e.Ref.File == primary.ref.File {
			g += 20
		}
		if e.Rank != run.NoRank {
			g += 3 // a global rank says more than a local one
		}
		if !waited[rank] {
			g += 8
		}
		if e.First {
			g += 4
		}
		if g > grade {
			best, grade = rank, g
		}
	}
	return best
}

// absentee is the one rank of the job that is missing among those that timed
// out waiting for it.
func absentee(f *casefile.File, primary *suspect, all []*suspect) int {
	if primary.class != report.NCCL && primary.class != report.Stalled {
		return run.NoRank
	}
	there := waited(all)
	world := worldSize(f, there)
	if world < 2 || len(there) != world-1 {
		return run.NoRank
	}
	for r := range world {
		if !there[r] {
			return r
		}
	}
	return run.NoRank
}

// worldSize is what the run says of it, else one more than the highest rank seen.
func worldSize(f *casefile.File, seen map[int]bool) int {
	for _, key := range []string{"world.size", "config.world_size"} {
		if n, err := strconv.Atoi(f.Value(key)); err == nil && n > 0 {
			return n
		}
	}
	top := run.NoRank
	for r := range seen {
		top = max(top, r)
	}
	for _, s := range f.Streams {
		for r := range s.Readers {
			top = max(top, r)
		}
	}
	for _, e := range f.Exits {
		top = max(top, e.Rank, e.Local)
	}
	return top + 1
}

// onlyRank is the rank that every line which names one names.
func onlyRank(f *casefile.File) int {
	only := run.NoRank
	for _, s := range f.Logs() {
		for _, l := range s.Head {
			m := logRank.FindStringSubmatch(l.Text)
			if m == nil {
				continue
			}
			n, err := strconv.Atoi(m[1])
			if err != nil || only != run.NoRank && n != only {
				return run.NoRank
			}
			only = n
		}
	}
	return only
}

var logRank = regexp.MustCompile(`\[RANK:(\d+)\]`)
