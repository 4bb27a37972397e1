package nccl_test

import (
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

func TestOddCollective(t *testing.T) {
	line := func(own, other string) string {
		return "[rank" + own + "]: RuntimeError: Detected mismatch between collectives on ranks. Rank " + own + " is running collective: CollectiveFingerPrint(SequenceNumber=8, OpType=ALLREDUCE), but Rank " + other + " is running collective: CollectiveFingerPrint(SequenceNumber=8, OpType=BROADCAST).\n"
	}
	for _, c := range []struct {
		name, log string
		want      int
	}{
		{"three complain of one", line("1", "2") + line("0", "2") + line("3", "2") + line("2", "0"), 2},
		{"two ranks only", line("0", "1") + line("1", "0"), run.NoRank},
		{"no rank is in all pairs", line("0", "1") + line("2", "3"), run.NoRank},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := failuretest.Run(t, report.NCCL, "rank-in-another-collective", failuretest.File(t, c.log))
			if c.want == run.NoRank && len(s) > 0 || c.want != run.NoRank && (len(s) != 1 || s[0].Rank != c.want) {
				t.Errorf("got %+v, want rank %d", s, c.want)
			}
		})
	}
}

func TestMissingRank(t *testing.T) {
	const warning = "[1,0]<stderr>:W horovod/common/stall_inspector.cc:107] One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for remainder of ranks for more than 60 seconds.\n"
	for _, c := range []struct {
		name, log string
		want      int
	}{
		{"one", warning + "[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:2: [grads_0, grads_3]\n", 2},
		{"the same one again", strings.Repeat(warning+"[1,0]<stderr>:Stalled ranks:\n[1,0]<stderr>:6: [allreduce.0, allreduce.1 ...]\n", 3), 6},
		{"one against the rest", warning + "[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:0: [val]\n[1,0]<stderr>:1: [val]\n[1,0]<stderr>:2: [grads_0, grads_3]\n", 2},
		{"one against one", warning + "[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:0: [val]\n[1,0]<stderr>:2: [grads_0]\n", run.NoRank},
		{"two", warning + "[1,0]<stderr>:Missing ranks:\n[1,0]<stderr>:2: [grads_0]\n[1,0]<stderr>:3: [grads_0]\n", run.NoRank},
		{"not named: the rank that speaks is not the one", warning, run.NoRank},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := failuretest.Run(t, report.NCCL, "waits-to-the-end", failuretest.File(t, c.log))
			if len(s) != 1 || s[0].Rank != c.want {
				t.Errorf("got %+v, want rank %d", s, c.want)
			}
		})
	}
}
