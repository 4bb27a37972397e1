package export_test

import (
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

func FuzzCommand(f *testing.F) {
	for _, s := range []string{
		"Filesystem Size Used Avail Use% Mounted on\nshm 64M 0 64M 0% /dev/shm\n", "| 0 Tesla On |\n| x | 3MiB / 4MiB | 0% |",
		"JobID|State\n1|FAILED\n", "JobID State\n----- -----\n1 F\n", "USER PID COMMAND\na 1 x", "memory.used, index\n1 MiB, 0\n2 MiB, 0",
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
