package nccl_test

import (
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

func TestOneRemote(t *testing.T) {
	const line = "[rank%]: create link failed! localRank[%] remoteRank[5]\n"
	log := ""
	for _, r := range []string{"4", "6", "7"} {
		log += strings.ReplaceAll(line, "%", r)
	}
	s := failuretest.Run(t, report.NCCL, "one-rank-out-of-reach", failuretest.File(t, log))
	if len(s) != 1 || s[0].Rank != 5 {
		t.Errorf("three ranks that name rank 5 = %+v, want rank 5", s)
	}
	if s := failuretest.Run(t, report.NCCL, "one-rank-out-of-reach", failuretest.File(t, log+"[rank0]: create link failed! localRank[0] remoteRank[3]\n")); len(s) != 0 {
		t.Errorf("ranks that name different peers = %+v, want nothing", s)
	}
}

const interruptedBarrier = `epoch 1 done
Traceback (most recent call last):
  File "train.py", line 10, in <module>
    dist.barrier()
  File "/x/torch/distributed/distributed_c10d.py", line 3145, in barrier
    work.wait()
KeyboardInterrupt
`

func TestInterruptedTogether(t *testing.T) {
	s := failuretest.Run(t, report.NCCL, "interrupted-in-a-collective", failuretest.File(t, interruptedBarrier))
	if len(s) != 1 || s[0].Status != report.Hung {
		t.Errorf("Ctrl-C in a barrier = %+v, want hung", s)
	}
	other := strings.ReplaceAll(strings.ReplaceAll(interruptedBarrier, "barrier", "forward"), "torch/distributed/distributed_c10d", "model")
	if s := failuretest.Run(t, report.NCCL, "interrupted-in-a-collective", failuretest.File(t, other)); len(s) != 0 {
		t.Errorf("Ctrl-C in a forward pass = %+v, want nothing", s)
	}
}

func TestLostHost(t *testing.T) {
	log := failuretest.Text{Name: "task0.log", Body: "E0520 coordination_service.cc:586] /job:jax_worker/replica:0/task:5 unhealthy: UNAVAILABLE: Task /job:jax_worker/replica:0/task:5 heartbeat timeout.\n"}
	port := failuretest.Text{Name: "dmesg.txt", Kind: "dmesg", Body: "[Tue May 20 11:04:19 2025] mlx5_core 0000:9f:00.0 ens9np0: Link down\n"}
	if s := failuretest.Run(t, report.NCCL, "lost-host", failuretest.Files(t, log, port)); len(s) != 1 || s[0].Rank != 5 {
		t.Errorf("a lost task and a port down = %+v, want rank 5", s)
	}
	if s := failuretest.Run(t, report.NCCL, "lost-host", failuretest.Files(t, log)); len(s) != 0 {
		t.Errorf("a lost task alone = %+v, want nothing", s)
	}
}
