package nccl

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// remote is how lines name the rank that they could not reach.
var remote = regexp.MustCompile(`(?i)(?:remoteRank\[|dst_rank\[|remote rank ?[\[:=(]? ?|from remote rank |peer rank ?[:=\[]? ?|connection (?:to|from) rank |waiting for (?:connection from )?rank )(\d+)`)

// oneRemote finds several ranks that all complain of one and the same peer: the
// peer, or its link, is at fault.
func oneRemote(f *casefile.File) []failure.Sighting {
	named, first := map[int]map[int]bool{}, map[int]*casefile.Event{}
	for _, e := range f.Events {
		if e.Sign.Class != report.NCCL || e.Sign.Role == report.RoleContext || f.Recovered(e) {
			continue
		}
		m := remote.FindStringSubmatch(e.Text)
		if m == nil {
			continue
		}
		r, _ := strconv.Atoi(m[1])
		if named[r] == nil {
			named[r], first[r] = map[int]bool{}, e
		}
		named[r][e.Rank] = true
	}
	for r, by := range named {
		if len(by) < 2 || len(named) > 1 || by[r] {
			continue
		}
		e := first[r]
		return []failure.Sighting{{
			Type: report.AnomalyDistributedError, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.9, Cause: "network-fabric",
			Rank: r, Step: e.Step, Ref: e.Ref, Text: e.Text, Says: fmt.Sprintf("%d ranks could not reach or hear rank %d, and none of them complains of another.", len(by), r),
		}}
	}
	return nil
}

// together are places where a rank waits until the others come.
var together = regexp.MustCompile(`(?i)rendezvous|barrier|all_?reduce|all_?gather|reduce_scatter|reduce_gradients|:broadcast\w*|init_process_group|_store_based_barrier|:synchronize\b.*(?:dist|horovod|hvd)|wait_for_everyone|TCPStore|_create_c10d_store|hvd\.|mpi4py|:_?send_object|:_?recv_object|broadcast_object_list|multihost_utils|distributed\.initialize|mark_step_barrier`)

// interruptedTogether finds a person's Ctrl-C (or a limit's signal) in a program
// whose innermost frames wait for other ranks.
func interruptedTogether(f *casefile.File) []failure.Sighting {
	for _, e := range f.Events {
		if e.Sign.Role == report.RoleCause && e.Sign.Weight >= 0.5 && e.Sign.Class != report.NCCL && e.Sign.Class != report.Stalled && e.Sign.ID != "slurm-time-limit" && !f.Recovered(e) {
			return nil
		}
	}
	for _, t := range f.Tracebacks {
		if !interrupted(t) {
			if t.Later == nil && !f.TracebackRecovered(t) {
				return nil
			}
			continue
		}
	}
	for _, t := range f.Tracebacks {
		if !interrupted(t) || t.Earlier != nil || f.WentOn(t.Stream, t.Rank, 0, t.At) && !near(t) {
			continue
		}
		for i := max(0, len(t.Frames)-5); i < len(t.Frames); i++ {
			fr := t.Frames[i]
			if !together.MatchString(fr.String()) {
				continue
			}
			return []failure.Sighting{{
				Type: report.AnomalyDistributedError, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.82, Cause: "rank-missing",
				Rank: run.NoRank, Step: t.Step, Ref: t.Ref, Text: t.Type, Also: []run.Ref{t.First}, Status: report.Hung,
				Says:     fmt.Sprintf("The program was interrupted while it waited for other ranks (%s in %s).", run.Name(fr.Func), run.Name(base(fr.File))),
				YieldsTo: []report.Class{report.OOM, report.DataPipeline, report.CUDA},
			}}
		}
	}
	return nil
}

func interrupted(t *casefile.Traceback) bool { return strings.HasSuffix(t.Type, "KeyboardInterrupt") }

// near reports whether a traceback stands in the last lines of its stream.
func near(t *casefile.Traceback) bool {
	return len(t.Stream.Tail) == 0 || t.Ref.Line >= t.Stream.Tail[0].Ref.Line
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// unhealthyTask is how the coordination service names a task that it lost.
var unhealthyTask = regexp.MustCompile(`task:(\d+)\b.{0,120}(?:heartbeat timeout|unhealthy|stopped sending heartbeats)|unhealthy.{0,120}task:(\d+)`)

// lostHost joins a coordination service that lost exactly one task with a driver
// that reports a network port down.
func lostHost(f *casefile.File) []failure.Sighting {
	var first *casefile.Event
	lost := run.NoRank
	for _, e := range f.EventsOf("jax-task-unhealthy") {
		m := unhealthyTask.FindStringSubmatch(e.Text)
		if m == nil {
			continue
		}
		r, _ := strconv.Atoi(m[1] + m[2])
		if first != nil && r != lost {
			return nil
		}
		if first == nil {
			first, lost = e, r
		}
	}
	port := f.EventsOf("ib-driver-error")
	if first == nil || len(port) == 0 || f.Recovered(first) {
		return nil
	}
	return []failure.Sighting{{
		Type: report.AnomalyDistributedError, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.96, Cause: "network-fabric",
		Rank: lost, Step: first.Step, Ref: first.Ref, Text: first.Text, Also: []run.Ref{port[0].Ref},
		Says:     fmt.Sprintf("Task %d stopped sending heartbeats, and a driver reports that a network port went down.", lost),
		YieldsTo: []report.Class{report.OOM, report.CUDA},
	}}
}
