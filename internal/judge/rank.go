package judge

import (
	"maps"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// failingRank is the rank that failed first: the one whose line proves the
// cause, else the one that shows the same error, else what exits and the list
// of the ranks that merely waited leave over. A launcher's claim counts only
// where it carries information: it names the lowest rank of those that failed in
// the same second, survivors included.
func failingRank(f *casefile.File, primary *suspect, all []*suspect) int {
	victims := waited(all)
	if primary.class == report.NCCL && primary.role == report.RoleSymptom && consequence.MatchString(primary.text) {
		// the line is a victim's: its rank is the one that is not at fault
		if r := rankByExit(f.Exits, primary, all, victims, true); r != run.NoRank {
			return r
		}
		return absentee(f, primary, victims)
	}
	if r := rankOfNode(f.Exits, primary); r != run.NoRank {
		return r
	}
	if r := firstRank(f, primary, all); r != run.NoRank {
		return r
	}
	if r := rankOfProcess(f, primary, all); r != run.NoRank {
		return r
	}
	if r := rankOfMessage(primary, all); r != run.NoRank {
		return r
	}
	if r := rankByExit(f.Exits, primary, all, victims, false); r != run.NoRank {
		return r
	}
	if r := absentee(f, primary, victims); r != run.NoRank {
		return r
	}
	return onlyRank(f)
}

// rankOfNode is the global rank that the launcher of the primary's node blames,
// where the primary's own rank is only the number in the name of its file: that
// may count nodes.
func rankOfNode(exits []casefile.Exit, primary *suspect) int {
	if primary.stream == nil || primary.rank == run.NoRank || primary.rank != primary.stream.Rank {
		return run.NoRank
	}
	for _, e := range exits {
		if e.First && e.Rank != run.NoRank && e.Ref.File == primary.ref.File {
			return e.Rank
		}
	}
	return run.NoRank
}

// firstRank is the primary's own rank, or the earliest of those that show the
// same sign. Where only the place in one log orders them, the launcher's claim
// decides among them.
func firstRank(f *casefile.File, primary *suspect, all []*suspect) int {
	first := primary
	var claimed *suspect
	claim := run.NoRank
	for _, e := range f.Exits {
		if e.First && e.Rank != run.NoRank {
			claim = e.Rank
		}
	}
	for _, s := range all {
		if s.recovered || s.class != primary.class || s.id != primary.id || s.rank == run.NoRank {
			continue
		}
		if s.rank == claim {
			claimed = s
		}
		if first.rank == run.NoRank || s.compare(first) < 0 {
			first = s
		}
	}
	if claimed != nil && !first.at.Before(claimed.at) {
		return claim
	}
	return first.rank
}

// processID is how lines name a process: "(RayTrainWorker pid=8116)", "pid: 8115".
var processID = regexp.MustCompile(`\bpid[=:]\s*(\d+)`)

// rankOfProcess is the rank of the process that the primary's line names, or else
// of the first one that is named in what was printed behind a failure, where the
// launcher told which process has which rank.
func rankOfProcess(f *casefile.File, primary *suspect, all []*suspect) int {
	rank := func(text string) int {
		for _, m := range processID.FindAllStringSubmatch(text, -1) {
			if n, err := strconv.Atoi(f.Value(casefile.RankOfPID(m[1]))); err == nil {
				return n
			}
		}
		return run.NoRank
	}
	if r := rank(primary.text); r != run.NoRank {
		return r
	}
	for _, s := range all {
		if s.recovered || s.class == report.NCCL || s.context == nil {
			continue
		}
		for _, l := range s.context.After() {
			if strings.HasPrefix(l, "(") { // a worker's own line says only who speaks
				continue
			}
			if r := rank(l); r != run.NoRank {
				return r
			}
		}
	}
	return run.NoRank
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
		if s.recovered || s.class != report.NCCL || s.detected {
			continue // a detector names the rank that the others waited for
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

// rankByExit grades the processes that launchers report: one that a signal of
// its own ended (not an abort or a termination: survivors die of those), then
// one that did not merely wait. Reports of the node that proves the cause come
// first. Two of the same grade are no answer, unless all failed alike.
func rankByExit(exits []casefile.Exit, primary *suspect, all []*suspect, waited map[int]bool, notVictims bool) int {
	// where the primary is a victim's line, those that raised or aborted are victims too
	best, grade, tie := run.NoRank, 0, false
	alike := failedAlike(exits, primary, all)
	for _, e := range exits {
		rank := e.Rank
		if rank == run.NoRank {
			rank = e.Local
		}
		timedOut := primary.class != report.NCCL && waited[rank] && e.Code == -6 // its watchdog ended it
		if rank == run.NoRank || timedOut || e.Code == -15 || e.Code == 143 || notVictims && (waited[rank] || e.Code >= 0 || e.Code == -6) {
			continue
		}
		g := gradeOf(e, primary, waited, rank, alike)
		switch {
		case g > grade:
			best, grade, tie = rank, g, false
		case g == grade && rank != best:
			tie = true
		}
	}
	if tie && !alike {
		return run.NoRank
	}
	return best
}

func gradeOf(e casefile.Exit, primary *suspect, waited map[int]bool, rank int, alike bool) int {
	g := 10
	switch {
	case e.Code < 0 && e.Code != -6:
		g += 40
	case e.Code == -6 && primary.trace == nil && nativeAbort.MatchString(primary.text):
		g += 40
	case e.Code == -6:
		g -= 5
	}
	if e.Ref.File == primary.ref.File {
		g += 20
	}
	if !waited[rank] {
		g += 8
	}
	if e.Only || e.Proven || e.First && alike {
		g += 4
	}
	if e.Rank != run.NoRank {
		g++ // a global rank says more than a local one
	}
	return g
}

// nativeAbort are the words of a process that C++ code ended.
var nativeAbort = regexp.MustCompile(`what\(\):|terminate called|enforce fail|\*\*\* Abort`)

// failedAlike reports whether the primary's line came at least as often as
// processes failed: then all failed in the same way.
func failedAlike(exits []casefile.Exit, primary *suspect, all []*suspect) bool {
	ranks, shown := map[int]bool{}, map[string]int{}
	for _, e := range exits {
		if e.Rank != run.NoRank && e.Code != -15 {
			ranks[e.Rank] = true
		}
	}
	for _, s := range all {
		if s.class == primary.class && !s.recovered {
			shown[s.id] += s.count
		}
	}
	most := 0
	for _, n := range shown {
		most = max(most, n)
	}
	return len(ranks) <= 1 || most >= len(ranks)
}

// absentee is the one rank of the job that is missing among those that timed
// out waiting for it.
func absentee(f *casefile.File, primary *suspect, there map[int]bool) int {
	if primary.class != report.NCCL && primary.class != report.Stalled && (len(there) < 2 || primary.role != report.RoleCause) {
		return run.NoRank
	}
	there = maps.Clone(there)
	stopped, exited := 0, map[int]bool{}
	for _, e := range f.Exits {
		rank := e.Rank
		if rank == run.NoRank {
			rank = e.Local
		}
		switch {
		case e.Code == -15 && rank == run.NoRank:
			stopped++
		case rank != run.NoRank && e.Code != -15:
			there[rank], exited[rank] = true, true
		}
	}
	world := worldSize(f, there)
	if stopped == 1 && world <= len(there) && len(exited) == len(there) {
		world = len(there) + 1
	}
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
