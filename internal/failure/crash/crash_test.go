package crash_test

import (
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

func TestBareKilledAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		log  string
		want int
	}{
		"alone":                 {"step 1 loss 2\nKilled\n", 1},
		"behind a progress bar": {"step 1 loss 2\n 12%|#    | 12/100 [01:00<07:20,  5.0s/it]Killed\n", 1},
		"inside a sentence":     {"step 1 loss 2\nKilled 3 stale workers before the start\n", 0},
		"long before the end":   {"Killed\na\nb\nc\nd\ne\n", 0},
	} {
		t.Run(name, func(t *testing.T) {
			if got := failuretest.Run(t, report.Crash, "killed-line", failuretest.File(t, c.log)); len(got) != c.want {
				t.Fatalf("want %d sightings, got %+v", c.want, got)
			}
		})
	}
}

func TestNativeStack(t *testing.T) {
	log := "epoch 2\n 0  /lib/x86_64-linux-gnu/libc.so.6(+0x42520) [0x7f0c31fac4f0]\n 1  /v/libtorch_cuda.so(+0x31c) [0x7f0f9787e850]\n 2  /v/libtorch_cuda.so(+0x31d) [0x7f0f9787e851]\n 3  /v/libtorch_cuda.so(+0x31e) [0x7f0f9787e852]\n"
	if got := failuretest.Run(t, report.Crash, "native-stack", failuretest.File(t, log)); len(got) != 1 {
		t.Fatalf("want one sighting, got %+v", got)
	}
}

func TestSmallSharedMemoryBesideBusError(t *testing.T) {
	f := failuretest.Files(t, failuretest.Text{Name: "run.log", Body: "exits with return code = -7\n"},
		failuretest.Text{Name: "df.txt", Kind: "df", Body: "shm              64M     0   64M   0% /dev/shm\n"})
	if s, e := failuretest.Book(t).Class(report.Crash).Cause("shm-too-small").When(f); s <= 0.5 || len(e) == 0 {
		t.Fatalf("want the cause, got strength %v", s)
	}
}

func TestHangupBySession(t *testing.T) {
	f := failuretest.Files(t, failuretest.Text{Name: "nohup.out", Body: "torch.distributed.elastic.multiprocessing.api.SignalException: Process 2210 got signal: 1\n"},
		failuretest.Text{Name: "auth.log", Kind: "other", Body: "Mar 29 03:05:51 gpu2 sshd[4021]: Received disconnect from 10.8.0.31 port 51822:11: disconnected by user\n"})
	if s, _ := failuretest.Book(t).Class(report.Crash).Cause("hangup").When(f); s <= 0.5 {
		t.Fatalf("want the cause, got strength %v", s)
	}
}

func TestExitStatus(t *testing.T) {
	for value, want := range map[string]int{"137": 1, "0:11": 1, "1": 0, "0:0": 0, "143": 0} {
		f := failuretest.File(t, "step 1 loss 2\n")
		f.AddFact(run.Fact{Key: "pod.exit_code", Value: value})
		if got := failuretest.Run(t, report.Crash, "exit-status-of-a-signal", f); len(got) != want {
			t.Errorf("%s: want %d sightings, got %+v", value, want, got)
		}
	}
}

func TestRestartedPod(t *testing.T) {
	f := failuretest.File(t, "step 1 loss 2.0\n")
	for k, v := range map[string]string{"pod.exit_code": "137", "pod.phase": "Succeeded", "pod.restart_count": "1"} {
		f.AddFact(run.Fact{Key: k, Value: v})
	}
	if s := failuretest.Run(t, report.Crash, "exit-status-of-a-signal", f); len(s) != 0 {
		t.Errorf("a pod that was restarted and ended well = %+v, want nothing", s)
	}
}
