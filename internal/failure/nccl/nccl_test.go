package nccl_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

func timeout(rank int, op string, numel int) string {
	return fmt.Sprintf("[rank%d]:[E ProcessGroupNCCL.cpp:629] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77, OpType=%s, NumelIn=%d, NumelOut=%d, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n", rank, rank, op, numel, numel)
}

func TestDifferentCollectives(t *testing.T) {
	log := timeout(0, "ALLREDUCE", 1) + timeout(1, "ALLREDUCE", 4096) + timeout(2, "ALLREDUCE", 4096) + timeout(3, "ALLREDUCE", 4096)
	got := failuretest.Run(t, report.NCCL, "ranks-in-different-collectives", failuretest.File(t, log))
	if len(got) != 1 || got[0].Rank != 0 {
		t.Fatalf("want rank 0 as the odd one, got %+v", got)
	}
}

// The quick heuristic: a timeout with no error means that one rank stopped
// before; it is the one that does not complain.
func TestAbsentRank(t *testing.T) {
	log := strings.Replace(timeout(0, "ALLREDUCE", 9), "[rank0]:", "[rank3]: start\n[rank0]:", 1) + timeout(1, "ALLREDUCE", 9) + timeout(2, "ALLREDUCE", 9)
	got := failuretest.Run(t, report.NCCL, "rank-absent-from-timeouts", failuretest.File(t, log))
	if len(got) != 1 || got[0].Rank != 3 || got[0].Role != report.RoleSymptom {
		t.Fatalf("want rank 3 as a symptom, got %+v", got)
	}
}

func TestTimeoutBeforeAnyDeath(t *testing.T) {
	killed := "  traceback : Signal 9 (SIGKILL) received by PID 4021\n"
	for name, c := range map[string]struct {
		log  string
		want int
	}{
		"the kill came later": {timeout(0, "ALLREDUCE", 9) + killed, 1},
		"the kill came first": {killed + timeout(0, "ALLREDUCE", 9), 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failuretest.Run(t, report.NCCL, "timeout-before-any-death", failuretest.File(t, c.log)); len(got) != c.want {
				t.Fatalf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}

func TestWaitsToTheEnd(t *testing.T) {
	log := "One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\nMissing ranks:\n0: [allreduce.x]\n"
	if got := failuretest.Run(t, report.NCCL, "waits-to-the-end", failuretest.File(t, log)); len(got) != 1 {
		t.Fatalf("want one sighting, got %+v", got)
	}
}

func TestUnknownDistributedException(t *testing.T) {
	log := "Traceback (most recent call last):\n  File \"/v/torch/distributed/distributed_c10d.py\", line 8, in init_process_group\n    store.wait()\nStoreError: rendezvous peer vanished\n"
	if got := failuretest.Run(t, report.NCCL, "exception-in-distributed-code", failuretest.File(t, log)); len(got) != 1 {
		t.Fatalf("want one sighting, got %+v", got)
	}
}
