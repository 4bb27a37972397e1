package stalled_test

import (
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/failuretest"
	"github.com/trainmedic/trainmedic/internal/report"
)

const finished = `2024-01-01 10:00:00 step 100 loss 2.0
2024-01-01 10:01:00 step 200 loss 1.9
2024-01-01 10:02:00 step 300 loss 1.8
2024-01-01 10:02:10 Training finished
`

func TestDoneNotEnded(t *testing.T) {
	const end = "slurmstepd: error: *** JOB 4 ON n1 CANCELLED AT 2024-01-01T23:12:07 DUE TO TIME LIMIT ***\n"
	for _, c := range []struct {
		name, log string
		want      int
	}{
		{"a day later", finished + end, 1},
		{"a minute later", finished + strings.Replace(end, "T23:12", "T10:03", 1), 0},
		{"nobody ended it", finished, 0},
		{"training went on", finished + "2024-01-01 23:11:00 step 400 loss 1.7\n2024-01-01 23:11:30 step 500 loss 1.6\n2024-01-01 23:12:00 step 600 loss 1.6\n" + end, 0},
	} {
		if s := failuretest.Run(t, report.Stalled, "done-and-not-ended", failuretest.File(t, c.log)); len(s) != c.want {
			t.Errorf("%s: %+v, want %d", c.name, s, c.want)
		}
	}
}

func TestWaitsForResources(t *testing.T) {
	const wait = "22/09/19 07:00:36 WARN TaskSchedulerImpl: Initial job has not accepted any resources; check your cluster UI\n"
	if s := failuretest.Run(t, report.Stalled, "waits-for-resources", failuretest.File(t, "starting\n"+strings.Repeat(wait, 5))); len(s) != 1 {
		t.Errorf("five complaints at the end = %+v, want one sighting", s)
	}
	if s := failuretest.Run(t, report.Stalled, "waits-for-resources", failuretest.File(t, strings.Repeat(wait, 5)+"Starting task 0\nFinished task 0\nstage 1 done\n")); len(s) != 0 {
		t.Errorf("complaints before the work = %+v, want nothing", s)
	}
}

const waitingTrace = `preparing model
Traceback (most recent call last):
  File "train.py", line 10, in <module>
    main()
  File "/x/filelock/_api.py", line 200, in acquire
    time.sleep(poll_interval)
KeyboardInterrupt
`

func TestInterruptedWhileWaiting(t *testing.T) {
	if s := failuretest.Run(t, report.Stalled, "interrupted-while-waiting", failuretest.File(t, waitingTrace)); len(s) != 1 {
		t.Errorf("Ctrl-C while a lock is waited for = %+v, want one sighting", s)
	}
	if s := failuretest.Run(t, report.Stalled, "interrupted-while-waiting", failuretest.File(t, finished[:len(finished)-len("2024-01-01 10:02:10 Training finished\n")]+waitingTrace)); len(s) != 0 {
		t.Errorf("Ctrl-C right after a step = %+v, want nothing", s)
	}
}

func TestPromptBeforeTheEnd(t *testing.T) {
	s := failuretest.Run(t, report.Stalled, "waits-for-input", failuretest.File(t, "-> loss.backward()\n(Pdb) \nslurmstepd: error: *** JOB 4 ON n1 CANCELLED AT 2024-01-01T23:12:07 DUE TO TIME LIMIT ***\nsrun: error: n1: task 0: Killed\n"))
	if len(s) != 1 {
		t.Errorf("a debugger's prompt before the time limit = %+v, want one sighting", s)
	}
}
