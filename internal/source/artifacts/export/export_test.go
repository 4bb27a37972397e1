package export_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
)

func TestSniff(t *testing.T) {
	const (
		df     = "Filesystem      Size  Used Avail Use% Mounted on\n/dev/vda1        97G   31G   67G  32% /\n"
		kernel = "[1198334.100112] NVRM: GPU at 0000:03:00\n[1198334.884012] NVRM: Xid (0000:03:00): 79, GPU has fallen off the bus.\n"
		train  = "step 1 loss 2.5\nstep 2 loss 2.4\n"
	)
	for _, c := range []struct{ name, head, want string }{
		{"run.log", train, "log"},
		{"run.log", df + train, "log"},
		{"nohup.out", kernel, "log"},
		{"train.log", train, "log"},
		{"df.txt", df, "df"},
		{"disk.txt", df, "df"},
		{"a/df_before.txt", df, "df"},
		{"dmesg-h-013.txt", kernel, "dmesg"},
		{"x.txt", kernel, "dmesg"},
		{"gpu.txt", "idle\n", "nvidia-smi"},
		{"gpu.log", train, "log"},
		{"processes.txt", "  PID STAT CMD\n 1 S init\n", "ps"},
		{"who.txt", "  PID STAT CMD\n 1 S init\n", "ps"},
		{"squeue.txt", "JOBID PARTITION NAME\n", "slurm"},
		{"auth.log", "sshd\n", "other"},
		{"README", "hello\n", "other"},
		{"stacks.txt", "Thread 0x7f (most recent call first):\n", "log"},
	} {
		if got := export.Sniff(c.name, c.head, int64(len(c.head))); got != c.want {
			t.Errorf("Sniff(%q, %.20q) = %s, want %s", c.name, c.head, got, c.want)
		}
	}
}

func TestRef(t *testing.T) {
	text := export.NewText("a", "one\r\ntwo\n")
	if diff := cmp.Diff([]string{"one", "two", ""}, text.Lines); diff != "" {
		t.Error(diff)
	}
	if r := text.Ref(2); r.Offset != 5 || r.Line != 2 {
		t.Errorf("line 2 is %+v", r)
	}
	if r := text.Ref(9); r.Line != 0 {
		t.Errorf("a line that is not there is %+v", r)
	}
}

func TestGPUWithoutHeading(t *testing.T) {
	for _, c := range []struct {
		name, rows string
		want       []string
	}{
		{"units", "0, NVIDIA A100-SXM4-80GB, 40536 MiB, 81920 MiB, 98 %\n1, NVIDIA A100-SXM4-80GB, 3 MiB, 81920 MiB, 0 %\n", []string{
			"gpu.0.name=NVIDIA A100-SXM4-80GB:1", "gpu.0.memory_used_mib=40536:1", "gpu.0.memory_total_mib=81920:1", "gpu.0.utilization=98:1",
			"gpu.1.name=NVIDIA A100-SXM4-80GB:2", "gpu.1.memory_used_mib=3:2", "gpu.1.memory_total_mib=81920:2", "gpu.1.utilization=0:2",
		}},
		{"total first, a series", "2024/05/01 10:00:00.123, 24576 MiB, 1200 MiB, 3 %, 71.20 W\n2024/05/01 10:01:00.123, 24576 MiB, 24100 MiB, 99 %, 340.11 W\n2024/05/01 10:02:00.123, 24576 MiB, 900 MiB, 0 %, 70.00 W\n", []string{
			"gpu.0.memory_total_mib=24576:3", "gpu.0.memory_used_mib=24100:2", "gpu.0.utilization=0:3", "gpu.0.power_w=70.00:3",
		}},
		{"no units", "0, Tesla T4, 15109, 15360, 97\n", []string{"gpu.0.name=Tesla T4:1", "gpu.0.memory_used_mib=15109:1", "gpu.0.memory_total_mib=15360:1", "gpu.0.utilization=97:1"}},
		{"what may be a temperature is left out", "0, Tesla T4, 40\n", []string{"gpu.0.name=Tesla T4:1"}},
		{"three columns of memory are left out", "GPU-1a2b3c4d-0000, 24576 MiB, 1200 MiB, 23376 MiB\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := export.Sniff("mon.csv", c.rows, 100); got != "nvidia-smi" {
				t.Errorf("it is taken for %s", got)
			}
			var got []string
			for _, f := range export.Command("nvidia-smi", export.NewText("mon.csv", c.rows)).Facts {
				got = append(got, fmt.Sprintf("%s=%s:%d", f.Key, f.Value, f.From.Line))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	for _, other := range []string{"1,2,3\n2,3,4\n", "step,loss\n1,2\n", "epoch 1, 95 %, 3 %\n", "NVIDIA A100, is what we use\nstep 1\n", "", "a"} {
		if export.GPURows(other) {
			t.Errorf("%q is taken for nvidia-smi", other)
		}
	}
}

func FuzzCommand(f *testing.F) {
	for _, s := range []string{
		"Filesystem Size Used Avail Use% Mounted on\nshm 64M 0 64M 0% /dev/shm\n", "| 0 Tesla On |\n| x | 3MiB / 4MiB | 0% |",
		"JobID|State\n1|FAILED\n", "JobID State\n----- -----\n1 F\n", "USER PID COMMAND\na 1 x", "memory.used, index\n1 MiB, 0\n2 MiB, 0", "0, Tesla T4, 3 MiB, 4 MiB, 5 %\n", "GPU-1a2b3c4d-, 3\n",
		"Name: x\nContainers:\n  a:\n    State: Waiting\n      Reason: X\n", "/a:\n-rw-r--r-- 1 a b 3 Jan  3 23:59 x\n", "0 3\n1 4", "JobId=1 JobState=X",
	} {
		for _, k := range []string{"df", "ps", "nvidia-smi", "slurm", "pod", "listing", "other", "free"} {
			f.Add(k, s)
		}
	}
	f.Fuzz(func(t *testing.T, kind, s string) {
		text := export.NewText("labels_hist_ulimit_pip.txt", s)
		found := export.Command(kind, text)
		for _, fact := range found.Facts {
			if fact.Key == "" || fact.From.Line < 0 || fact.From.Line > len(text.Lines) {
				t.Errorf("bad fact %+v", fact)
			}
		}
	})
}

func FuzzResource(f *testing.F) {
	f.Add(`{"jobDetail":{"taskDetails":[{"taskName":"a","state":"FAILED","error":{"message":"x"}}]}}`)
	f.Add(`{"items":[{"kind":"Pod","status":{"containerStatuses":[{"state":{"waiting":{}}}]}}]}`)
	f.Add(`{"PipelineExecutionSteps":[{"StepName":"a","StepStatus":"Failed","StartTime":1.5e9,"Metadata":{"x":{"Arn":"y"}}}]}`)
	f.Add(`{"jobs":[{"jobQueue":"q","status":"FAILED","stoppedAt":1678274527504,"container":{"reason":"OutOfMemoryError"}}]}`)
	f.Add(`{"runId":"a","status":"Failed","error":{"error":{"code":"UserError","message":"x"}}}`)
	f.Add(`{"run_details":1,"pipeline_runtime":{"workflow_manifest":"{}"}}`)
	f.Fuzz(func(t *testing.T, s string) {
		n, err := doc.JSON([]byte(s))
		if err != nil {
			return
		}
		export.Resource(export.NewText("x", s), n)
		export.Tasks(export.NewText("x", s), n.List())
	})
}
