package slurm

import (
	"strings"
	"testing"
	"time"
)

func TestSpan(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"00:01:00": time.Minute, "1-02:03:04": 26*time.Hour + 3*time.Minute + 4*time.Second, "7-00:00:00": 7 * 24 * time.Hour, "10:30": 10*time.Minute + 30*time.Second,
		"90": 90 * time.Minute, "2-12": 60 * time.Hour, "00:00:01.250": time.Second,
		"UNLIMITED": -1, "Partition_Limit": -1, "": -1, "-1": -1, "1:2:3:4": -1,
	} {
		if got, ok := span(text); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q is %v, %v; want %v", text, got, ok, want)
		}
	}
}

func TestFill(t *testing.T) {
	task := record{"jobid": "40", "arrayjobid": "38", "arraytaskid": "2", "jobname": "sweep", "workdir": "/w", "user": "me"}
	for path, want := range map[string]string{
		"/a/%A_%a.log": "/a/38_2.log", "out-%3a.txt": "/w/out-002.txt", "/a/%x-%u.log": "/a/sweep-me.log", "/a/100%%.log": "/a/100%.log", "/a/%t.log": "/a/%t.log", "": "",
	} {
		if got := fill(path, task); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}

func FuzzRecords(f *testing.F) {
	f.Add("JobId=5 ArrayJobId=4 ArrayTaskId=0 JobName=a b\n   JobState=FAILED Reason=NonZeroExitCode ExitCode=3:0\n   StdOut=/w/%a\n")
	f.Add("JobID|JobName|State|ExitCode\n4_0|x|CANCELLED by 0|0:15\n4_0.batch|batch|FAILED|9:0\n")
	f.Fuzz(func(t *testing.T, text string) {
		all := append(readControl(text), readAccount(text)...)
		together(all)
		for _, r := range all {
			if strings.Contains(r.line(), "\n") {
				t.Errorf("%q", r.line())
			}
		}
		stepLines(all)
		pathsOf(all)
	})
}
