package export_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
)

func TestTranscript(t *testing.T) {
	const session = "$ date\nWed May 22 07:05:44 CST 2024\n$ nvidia-smi --query-gpu=index,utilization.gpu,memory.used --format=csv,noheader\n0, 0 %, 14206 MiB\n" +
		"user@gpu-3:~/run$ sudo py-spy dump --pid 118203 | head\nProcess 118203: python train.py\nThread 1 (idle): \"MainThread\"\n    wait (threading.py:324)\n" +
		"$ cat /sys/fs/cgroup/memory.events\noom_kill 1\n$ true\n"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"a session", session, []string{"other 2-2", "nvidia-smi 4-4", "pyspy 6-8", "other 10-10"}},
		{"a log that begins with its command", "$ python train.py\nstep 1 loss 2.0\n", nil},
		{"a log in which a command stands", "step 1 loss 2.0\n$ nvidia-smi\n", nil},
		{"nothing", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, s := range export.Transcript("state.txt", c.text) {
				got = append(got, fmt.Sprintf("%s %d-%d", s.Kind, s.First, s.Last))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTranscriptLines: what a section tells points at the lines of the file.
func TestTranscriptLines(t *testing.T) {
	s := export.Transcript("state.txt", "$ date\nnow\n\n$ ps -eo pid,stat,cmd\n    PID STAT CMD\n  40410 D    python train.py\n")
	p := export.Command(s[1].Kind, s[1].Text).Processes
	if len(p) != 1 || p[0].PID != 40410 || p[0].Ref.Line != 6 || p[0].Ref.File != "state.txt" {
		t.Errorf("got %+v, want the process of line 6", p)
	}
}

func FuzzTranscript(f *testing.F) {
	f.Add("$ ls\na\n$ ps\nPID CMD\n1 init\n")
	f.Add("$ cat\n$ cat x\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range export.Transcript("a.txt", text) {
			if s.First > s.Last || s.Last > len(s.Text.Lines) {
				t.Fatalf("lines %d to %d of %d", s.First, s.Last, len(s.Text.Lines))
			}
			export.Command(s.Kind, s.Text)
		}
	})
}
