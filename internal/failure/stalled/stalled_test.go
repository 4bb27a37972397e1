package stalled_test

import (
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

const waiting = "INFO:torch.distributed.distributed_c10d:Waiting in store based barrier to initialize process group for rank: 2, key: store_based_barrier_key:1 (world_size=8, worker_count=4, timeout=0:30:00)\n"

func TestRanksNeverJoined(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want int
	}{
		"half of the ranks are missing": {waiting, 1},
		"training began":                {waiting + "step 1 loss 2.0\nstep 2 loss 1.9\nstep 3 loss 1.8\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failuretest.Run(t, report.Stalled, "ranks-never-joined", failuretest.File(t, c.log)); len(got) != c.want {
				t.Fatalf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}

func TestBuildLockLeftOver(t *testing.T) {
	log := failuretest.Text{Name: "run.log", Body: "> compiling and loading fused kernels ...\nBuilding extension module scaled_softmax_cuda...\n"}
	lock := failuretest.Text{Name: "ls.txt", Kind: "listing", Body: "-rw-r--r-- 1 root root 0 2024-08-28 18:22 lock\n"}
	if got := failuretest.Run(t, report.Stalled, "build-lock-left-over", failuretest.Files(t, log, lock)); len(got) != 1 {
		t.Fatalf("want one sighting, got %+v", got)
	}
	log.Body += "Loading extension module scaled_softmax_cuda...\n"
	if got := failuretest.Run(t, report.Stalled, "build-lock-left-over", failuretest.Files(t, log, lock)); len(got) != 0 {
		t.Fatalf("want none after the build was done, got %+v", got)
	}
}

func TestAliveWithoutProgress(t *testing.T) {
	log := failuretest.Text{Name: "run.log", Body: "step 1 loss 2\nstep 2 loss 2\nvalidation: 0/40\n"}
	for name, x := range map[string]failuretest.Text{
		"py-spy": {Name: "pyspy.txt", Kind: "pyspy", Body: "Thread 1 (idle): \"MainThread\"\n    wait (threading.py:312)\n    _get_data (torch/utils/data/dataloader.py:1440)\n"},
		"gdb":    {Name: "bt.txt", Kind: "other", Body: "#0  futex_wait (val=3) at futex.h:44\n#1  gomp_team_barrier_wait_end () at bar.c:112\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failuretest.Run(t, report.Stalled, "alive-without-progress", failuretest.Files(t, log, x)); len(got) != 1 {
				t.Fatalf("want one sighting, got %+v", got)
			}
		})
	}
	if got := failuretest.Run(t, report.Stalled, "alive-without-progress", failuretest.Files(t, log)); len(got) != 0 {
		t.Fatalf("want none without evidence, got %+v", got)
	}
}

func TestSilenceBeforeTheEnd(t *testing.T) {
	log := "2024-05-06 01:00:00 step 1 loss 2.0\n2024-05-06 01:01:00 step 2 loss 1.9\n2024-05-06 01:02:00 step 3 loss 1.9\n" +
		"slurmstepd: error: *** JOB 1021 ON n1 CANCELLED AT 2024-05-06T23:00:00 DUE TO TIME LIMIT ***\n"
	if got := failuretest.Run(t, report.Stalled, "silence-before-the-end", failuretest.File(t, log)); len(got) != 1 {
		t.Fatalf("want one sighting, got %+v", got)
	}
}

func TestHeartbeatWithoutProgress(t *testing.T) {
	log := "2024-05-06 01:00:00 step 1 loss 2.0\n2024-05-06 01:01:00 step 2 loss 1.9\n2024-05-06 01:02:00 step 3 loss 1.9\n" +
		"2024-05-06 02:00:00 heartbeat ok\n2024-05-06 03:00:00 heartbeat ok\n2024-05-06 04:00:00 heartbeat ok\n"
	if got := failuretest.Run(t, report.Stalled, "heartbeat-without-progress", failuretest.File(t, log)); len(got) != 1 {
		t.Fatalf("want one sighting, got %+v", got)
	}
}

func TestJobGoesOnWithoutLog(t *testing.T) {
	log := "2024-05-06 01:00:00 step 1 loss 2.0\n2024-05-06 01:01:00 step 2 loss 1.9\n2024-05-06 01:02:00 step 3 loss 1.9\n"
	f := failuretest.File(t, log)
	f.AddFact(run.Fact{Key: "slurm.state", Value: "R"})
	f.AddFact(run.Fact{Key: "slurm.elapsed", Value: "10:49:12"})
	if got := failuretest.Run(t, report.Stalled, "job-goes-on-without-log", f); len(got) != 1 {
		t.Fatalf("want one sighting, got %+v", got)
	}
}
