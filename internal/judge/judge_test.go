package judge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

func steps(prefix string, from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%sstep %d/100 loss %.3f lr 0.001\n", prefix, i, 3-float64(i)/100)
	}
	return b.String()
}

func raise(prefix, file, text string) string {
	return prefix + "Traceback (most recent call last):\n" + prefix + "  File \"" + file + "\", line 7, in step\n" + prefix + "    y = f(x)\n" + prefix + text + "\n"
}

const watchdog = "[rank0]:[E1001 12:00:01.000 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600029 milliseconds before timing out.\n"

const elastic = `E1001 12:00:05 torch/distributed/elastic/multiprocessing/api.py:826] failed (exitcode: 1) local_rank: 0 (pid: 10) of binary: python
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
Failures:
[1]:
  time      : 2024-01-01_10:00:00
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 11)
  error_file: <N/A>
Root Cause (first observed failure):
[0]:
  time      : 2024-01-01_10:00:00
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 10)
  error_file: <N/A>
`

func TestCase(t *testing.T) {
	oom := "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.1 GiB"
	for _, c := range []struct {
		name, log string
		class     report.Class
		status    report.RunStatus
		rank      int // -1: null
	}{
		{
			"a rank raises, another times out, the launcher names the wrong one",
			steps("[rank0]: ", 1, 9) + raise("[rank1]: ", "/app/model.py", oom) + watchdog + elastic, report.OOM, report.Crashed, 1,
		},
		{"a survived failure is none", steps("", 1, 9) + oom + "\n" + steps("", 10, 20) + "Training completed.\n", report.None, report.Recovered, -1},
		{"a run in progress is none", steps("", 1, 30), report.None, report.Healthy, -1},
		{"nothing to read is unknown", "", report.Unknown, report.Crashed, -1},
		{"only the victim's line", steps("[rank0]: ", 1, 9) + watchdog, report.NCCL, report.Crashed, -1},
		{
			"a message that nobody knows abstains or says little",
			steps("", 1, 9) + raise("", "/app/odd.py", "FrobnicationError: the frobnicator is out of phase"), "", report.Crashed, -1,
		},
		{"loss that stays NaN without a crash", steps("", 1, 60) + strings.ReplaceAll(steps("", 61, 90), "loss 2.", "loss nan #"), report.NaNInf, report.Diverged, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := judge.Case(failuretest.Book(t), failuretest.File(t, c.log))
			if c.class != "" && r.PrimaryCause != c.class {
				t.Errorf("want %s, got %s (%.2f): %v", c.class, r.PrimaryCause, r.CauseConfidence, r.Evidence)
			}
			if c.class == "" && r.CauseConfidence > 0.65 {
				t.Errorf("too sure of %s: %.2f", r.PrimaryCause, r.CauseConfidence)
			}
			if r.RunStatus != c.status {
				t.Errorf("want status %s, got %s", c.status, r.RunStatus)
			}
			rank := -1
			if r.FailingRank != nil {
				rank = *r.FailingRank
			}
			if rank != c.rank {
				t.Errorf("want rank %d, got %d", c.rank, rank)
			}
			if r.PrimaryCause == report.Unknown && len(r.MissingEvidence) == 0 {
				t.Error("an unknown cause must say what to fetch")
			}
			for i, l := range r.CauseChain {
				if l.Ref != nil && *l.Ref >= len(r.EvidenceRefs) {
					t.Errorf("chain link %d refers to evidence %d of %d", i, *l.Ref, len(r.EvidenceRefs))
				}
			}
		})
	}
}

func TestRankIsNullWhenNothingTells(t *testing.T) {
	log := steps("", 1, 9) + raise("", "/app/model.py", "RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x8 and 9x2)") +
		raise("", "/app/sync.py", "RuntimeError: [./gloo/transport/tcp/pair.cc:598] Connection closed by peer [127.0.0.1]:15798") + elastic
	r := judge.Case(failuretest.Book(t), failuretest.File(t, log))
	if r.PrimaryCause != report.Config || r.FailingRank != nil {
		t.Errorf("want config-error on no rank in particular, got %s on %v", r.PrimaryCause, r.FailingRank)
	}
}

func TestSameInputSameRuling(t *testing.T) {
	log := steps("[rank0]: ", 1, 9) + raise("[rank1]: ", "/app/data.py", "KeyError: 'pixel_values'") + watchdog + elastic
	first := fmt.Sprintf("%+v", judge.Case(failuretest.Book(t), failuretest.File(t, log)).Verdict.Evidence)
	for range 5 {
		if again := fmt.Sprintf("%+v", judge.Case(failuretest.Book(t), failuretest.File(t, log)).Verdict.Evidence); again != first {
			t.Fatalf("want %s, got %s", first, again)
		}
	}
}

func TestARunWhoseProcessLivesIsRunning(t *testing.T) {
	for state, want := range map[string]report.RunStatus{"": report.Healthy, "S": report.Running, "D": report.Running, "Z": report.Healthy, run.ProcessGone: report.Healthy} {
		f := failuretest.File(t, steps("", 1, 30))
		f.AddFact(run.Fact{Key: run.FactState, Value: state})
		if r := judge.Case(failuretest.Book(t), f); r.PrimaryCause != report.None || r.RunStatus != want {
			t.Errorf("state %q: %s, %s; want %s", state, r.PrimaryCause, r.RunStatus, want)
		}
	}
}
