package nccl

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var detectors = []failure.Detector{
	{
		Name: "ranks-in-different-collectives",
		Doc:  "The watchdogs of several ranks timed out in different collectives: the ranks did not take the same path through the program.",
		Run:  differentCollectives,
	},
	{
		Name: "rank-in-another-collective",
		Doc:  "Several ranks report a mismatch of collectives, all with one and the same rank: that one left the common path.",
		Run:  oddCollective,
	},
	{
		Name: "flight-recorder",
		Doc:  "The flight recorders' dumps show a collective that some ranks wait in and others did not come to, or that they called differently.",
		Run:  flightRecorder,
	},
	{
		Name: "rank-absent-from-timeouts",
		Doc:  "All ranks but one timed out in a collective: the one that is missing from the reports is the one that they waited for.",
		Run:  absentRank,
	},
	{
		Name: "timeout-before-any-death",
		Doc:  "A collective timed out before any process was killed: the kill is the consequence.",
		Run:  timeoutFirst,
	},
	{
		Name: "waits-to-the-end",
		Doc:  "Ranks report to the end that they wait for tensors that others do not submit.",
		Run:  waitsToTheEnd,
	},
	{
		Name: "one-rank-out-of-reach",
		Doc:  "Several ranks complain of one and the same peer and of no other: that rank or its link is at fault.",
		Run:  oneRemote,
	},
	{
		Name: "lost-host",
		Doc:  "The coordination service lost one task, and a driver reports a network port down.",
		Run:  lostHost,
	},
	{
		Name: "interrupted-in-a-collective",
		Doc:  "A person interrupted a program whose innermost frames wait for other ranks: a rendezvous, barrier or collective.",
		Run:  interruptedTogether,
	},
	{
		Name: "exception-in-distributed-code",
		Doc:  "An exception that no signature knows, raised while ranks joined or talked to each other.",
		Run:  distributedExceptions,
	},
}

var (
	timedOut = regexp.MustCompile(`SeqNum=(\d+), OpType=(\w+), (?:NumelIn=(\d+), NumelOut=\d+|TensorShape=\[([\d, ]*)\])`)
	rankIn   = regexp.MustCompile(`\[Rank (\d+)\] Watchdog`)
)

// wait is the collective in which a rank's time was over.
type wait struct {
	seq, op, numel string
	event          *casefile.Event
}

// waits lists by rank what the watchdogs say their ranks waited for, and the
// ranks in order.
func waits(f *casefile.File) (map[int]wait, []int) {
	of, order := map[int]wait{}, []int{}
	for _, e := range f.EventsOf("nccl-watchdog-timeout") {
		rank := e.Rank
		if m := rankIn.FindStringSubmatch(e.Text); m != nil {
			rank, _ = strconv.Atoi(m[1])
		}
		if _, seen := of[rank]; seen || rank < 0 || f.Recovered(e) {
			continue
		}
		w := wait{event: e}
		if m := timedOut.FindStringSubmatch(e.Text); m != nil {
			w.seq, w.op, w.numel = m[1], m[2], m[3]+m[4]
		}
		of[rank] = w
		order = append(order, rank)
	}
	sort.Ints(order)
	return of, order
}

// differ reports whether two ranks left the common path: another collective at the
// same place of the sequence, or another one at another place. Ranks of different
// process groups, which count apart, cannot be told from those where a rank's
// operation is pairwise.
func differ(x, y wait) bool {
	if x.op == "" || y.op == "" {
		return false
	}
	if x.seq != y.seq {
		return x.op != y.op && !pairwise(x.op) && !pairwise(y.op)
	}
	return x.op != y.op || x.numel != y.numel && !pairwise(x.op)
}

func pairwise(op string) bool {
	return op == "SEND" || op == "RECV" || strings.HasPrefix(op, "ALLTOALL") || op == "COALESCED"
}

// differentCollectives compares what the ranks waited for when they timed out;
// the rank that stands alone took another path.
func differentCollectives(f *casefile.File) []failure.Sighting {
	of, order := waits(f)
	for _, odd := range order {
		same, other := 0, -1
		for _, r := range order {
			switch {
			case differ(of[odd], of[r]):
				other = r
			case r != odd && of[odd].seq == of[r].seq:
				same++
			}
		}
		if other < 0 || 2*(same+1) > len(order) {
			continue
		}
		x, y := of[odd], of[other]
		return []failure.Sighting{{
			Type: report.AnomalyDistributedError, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.84, Cause: "collective-mismatch",
			Rank: odd, Step: x.event.Step, Ref: x.event.Ref, Text: x.event.Text, Also: []run.Ref{y.event.Ref},
			Says:     fmt.Sprintf("Rank %d waited in %s over %s elements (number %s of its sequence) and rank %d in %s over %s (number %s).", odd, x.op, x.numel, x.seq, other, y.op, y.numel, y.seq),
			YieldsTo: []report.Class{report.OOM, report.DataPipeline, report.CUDA, report.NaNInf, report.Config, report.IOCheckpoint},
		}}
	}
	return nil
}

// absentRank finds the one rank of the world whose watchdog did not complain:
// it is the one that the others waited for.
func absentRank(f *casefile.File) []failure.Sighting {
	of, order := waits(f)
	world := worldSize(f)
	if world < 3 || len(order) != world-1 || order[len(order)-1] >= world {
		return nil
	}
	for r := range world {
		if _, there := of[r]; there {
			continue
		}
		e := of[order[0]].event
		return []failure.Sighting{{
			Type: report.AnomalyDistributedError, Severity: report.Blocker, Role: report.RoleSymptom, Weight: 0.88, Cause: "rank-missing",
			Rank: r, Step: e.Step, Ref: e.Ref, Text: e.Text,
			Says: fmt.Sprintf("%d of %d ranks timed out in a collective; rank %d is the one that did not come.", len(order), world, r),
		}}
	}
	return nil
}

// worldSize is what a barrier or the ranks' own lines say; 0 when nothing does.
func worldSize(f *casefile.File) int {
	if n, err := strconv.Atoi(f.Value("dist.world_size")); err == nil {
		return n
	}
	most := -1
	for _, s := range f.Streams {
		for r := range s.Readers {
			most = max(most, r)
		}
	}
	for _, e := range f.Exits {
		most = max(most, e.Rank, e.Local)
	}
	return most + 1
}

// timeoutFirst sees timeouts that came before any process was killed: then the
// kill ended ranks that already hung.
func timeoutFirst(f *casefile.File) []failure.Sighting {
	t := f.EventsOf("nccl-watchdog-timeout")
	if len(t) == 0 || f.Recovered(t[0]) {
		return nil
	}
	killed := false
	for _, e := range f.Events {
		if e.Sign.Role != report.RoleCause || f.Recovered(e) {
			continue
		}
		if e.Sign.Sets["exit.signal"] != "SIGKILL" || e.Stream != t[0].Stream || e.Order < t[0].Order {
			return nil
		}
		killed = true
	}
	if !killed {
		return nil
	}
	e := t[0]
	return []failure.Sighting{{
		Type: report.AnomalyDistributedError, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.78, Cause: "rank-missing",
		Rank: e.Rank, Step: e.Step, Ref: e.Ref, Text: e.Text, Says: "A collective timed out before any process was killed.",
	}}
}

// waitsToTheEnd sees ranks that reported to the last that they wait for others,
// until somebody ended the run. Where storage does not answer, they wait for that.
func waitsToTheEnd(f *casefile.File) []failure.Sighting {
	e := f.EventsOf("horovod-stalled-ranks")
	if len(e) == 0 || f.Recovered(e[len(e)-1]) {
		return nil
	}
	for _, x := range f.Events {
		if x.Sign.Role == report.RoleCause && x.Sign.Class != report.Pipeline && (x.Sign.Class != report.Stalled || x.Sign.Cause == "storage-hang") && x.Sign.ID != "slurm-time-limit" && !f.Recovered(x) {
			return nil
		}
	}
	if len(f.Tracebacks) > 0 {
		return nil
	}
	first := e[0]
	return []failure.Sighting{{
		Type: report.AnomalyDistributedError, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.85, Cause: "collective-mismatch",
		Rank: missingRank(e), Step: first.Step, Ref: first.Ref, Text: first.Text, Status: report.Hung,
		Says: "Some ranks wait for tensors that the others never submit, to the end of the log.",
	}}
}

var (
	distributedFrames = regexp.MustCompile(`torch/distributed/(?:rendezvous|distributed_c10d|elastic)|:init_process_group|:_?create_c10d_store|horovod/|mpi4py|jax/_src/distributed|:init_distributed|distribute/(?:multi_worker|collective)`)
	distributedWords  = regexp.MustCompile(`(?i)nccl|gloo|hccl|rendezvous|tcpstore|process ?group|socket|connect|timed? ?out|peer|barrier|coordinat`)
	notDistributed    = regexp.MustCompile(`(?i)MASTER_ADDR expected|environment variable|not been initialized|invalid device ordinal|out of memory|No backend type|built.in|don.t have NCCL|ChildFailedError|same device|not (?:been )?compiled|unexpected keyword|SignalException`)
)

func distributedExceptions(f *casefile.File) []failure.Sighting {
	for _, t := range f.Tracebacks {
		text := t.Type + ": " + t.Message
		if t.Known != nil || t.Later != nil || f.TracebackRecovered(t) || !t.InFrames(distributedFrames) || !distributedWords.MatchString(text) || notDistributed.MatchString(text) {
			continue
		}
		line, _, _ := strings.Cut(text, "\n")
		return []failure.Sighting{{
			Type: report.AnomalyDistributedError, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.58, Cause: "network-fabric",
			Rank: t.Rank, Step: t.Step, Ref: t.Ref, Text: line, Says: t.Type + " was raised while ranks joined or talked to each other.",
			YieldsTo: []report.Class{report.OOM, report.CUDA, report.DataPipeline, report.Config, report.Crash},
		}}
	}
	return nil
}
