package monitor_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
	sourceall "github.com/trainmedic/trainmedic/internal/source/all"
)

// desk is a desk over real logs that looks often.
func desk(t *testing.T, dir string) *monitor.Desk {
	t.Helper()
	d := &monitor.Desk{Monitor: newMonitor(t, sourceall.Kinds()), Dir: dir}
	t.Cleanup(func() { d.Close() })
	return d
}

func often(target string) monitor.Request {
	return monitor.Request{Target: target, Interval: 20 * time.Millisecond, NoBackoff: true}
}

// seldom leaves time for a hundred watches.
func seldom(target string) monitor.Request {
	return monitor.Request{Target: target, Interval: 300 * time.Millisecond, NoBackoff: true}
}

func steps(from, to int, loss string) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "step %d/1000 loss=%s lr=1e-4\n", i, loss)
	}
	return b.String()
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// wait waits for news, for at most a while.
func wait(t *testing.T, d *monitor.Desk, id string, cursor int, fresh bool, most time.Duration) monitor.Status {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), most)
	defer cancel()
	st, err := d.Wait(ctx, id, cursor, fresh)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func TestClientsOfOneWatchLoseNothing(t *testing.T) {
	log := filepath.Join(t.TempDir(), "train.log")
	appendTo(t, log, steps(1, 20, "2.5"))
	d := desk(t, t.TempDir())
	id, err := d.Start(often(log))
	if err != nil {
		t.Fatal(err)
	}
	if again, err := d.Start(often(log)); err != nil || again != id {
		t.Fatalf("the same target and options: %s and %s, %v", id, again, err)
	}
	first := wait(t, d, id, 0, true, 10*time.Second)
	if first.State != report.StateRunning || len(first.Events) != 0 || !strings.Contains(first.Line, "Step 20/1000 (2.0%) | loss=2.5") {
		t.Fatalf("the baseline: %+v", first)
	}
	if quiet := wait(t, d, id, first.Cursor, false, 100*time.Millisecond); len(quiet.Events) != 0 {
		t.Errorf("a quiet answer: %+v", quiet)
	}
	appendTo(t, log, steps(21, 30, "nan"))
	for client := range 2 {
		st := wait(t, d, id, first.Cursor, false, 10*time.Second)
		if len(st.Events) != 1 || st.Events[0].Kind != report.EventOpened || st.Events[0].Anomaly.Type != report.AnomalyNaNInf || st.Cursor != 1 {
			t.Fatalf("client %d: %+v", client, st)
		}
	}
	st, err := d.Stop(id, 1, "a client asked for it")
	if err != nil || st.Artifact == nil || st.Artifact.Decision != report.NoGo || st.Events[len(st.Events)-1].Kind != report.EventEnd {
		t.Fatalf("stopped: %+v, %v", st, err)
	}
	if after := wait(t, d, id, 0, false, time.Second); len(after.Events) != 2 || after.Artifact == nil {
		t.Errorf("after the end: %+v", after)
	}
}

// TestEndedWatchesTakeNoSeat: a server lives longer than its watches.
func TestEndedWatchesTakeNoSeat(t *testing.T) {
	dir := t.TempDir()
	d := desk(t, t.TempDir())
	d.Most = 2
	start := func(name string) (string, error) {
		appendTo(t, filepath.Join(dir, name), steps(1, 20, "2.5"))
		return d.Start(often(filepath.Join(dir, name)))
	}
	ids := map[string]string{}
	for _, name := range []string{"a.log", "b.log", "c.log", "d.log"} {
		id, err := start(name)
		if err != nil {
			t.Fatal(err)
		}
		wait(t, d, id, 0, true, 10*time.Second)
		if _, err := d.Stop(id, 0, "a client asked for it"); err != nil {
			t.Fatal(err)
		}
		ids[name] = id
	}
	if st := wait(t, d, ids["a.log"], 0, false, 10*time.Second); st.Artifact == nil {
		t.Errorf("one that lost its seat: %+v", st)
	}
	for _, name := range []string{"e.log", "f.log"} {
		if _, err := start(name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := start("g.log"); !errors.Is(err, source.ErrDenied) {
		t.Errorf("a third one that goes on: %v", err)
	}
}

func TestATargetThatIsNothingIsAnError(t *testing.T) {
	d := desk(t, t.TempDir())
	if _, err := d.Wait(t.Context(), "w123", 0, false); !errors.Is(err, source.ErrNotFound) {
		t.Errorf("an unknown watch: %v", err)
	}
	if _, err := d.Start(often("")); !errors.Is(err, source.ErrBadTarget) {
		t.Errorf("no target: %v", err)
	}
}

func TestAnotherProcessReadsAlongAndGoesOn(t *testing.T) {
	log, dir := filepath.Join(t.TempDir(), "train.log"), t.TempDir()
	appendTo(t, log, steps(1, 20, "2.5"))
	owner, other := desk(t, dir), desk(t, dir)
	id, err := owner.Start(often(log))
	if err != nil {
		t.Fatal(err)
	}
	wait(t, owner, id, 0, true, 10*time.Second)
	if _, err := other.Start(often(log)); err != nil {
		t.Fatal(err)
	}
	wait(t, other, id, 0, true, 10*time.Second)
	appendTo(t, log, steps(21, 30, "nan"))
	if st := wait(t, other, id, 0, false, 10*time.Second); len(st.Events) != 1 {
		t.Fatalf("the reader: %+v", st)
	}
	owner.Close()
	appendTo(t, log, steps(31, 60, "1.9"))
	if st := wait(t, other, id, 1, false, 10*time.Second); len(st.Events) != 1 || st.Events[0].Kind != report.EventClosed {
		t.Errorf("after the owner went: %+v", st)
	}
}

const killed = 100

// TestMain lets the test binary be a server that is killed, and wants every
// goroutine to end with its test.
func TestMain(m *testing.M) {
	if dir := os.Getenv("TRAINMEDIC_TEST_SERVER"); dir != "" {
		serveWatches(dir)
		return
	}
	if dir := os.Getenv("TRAINMEDIC_TEST_WRITER"); dir != "" {
		writeLogs(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

// serveWatches starts or resumes the watches of a folder and says when each has
// looked.
func serveWatches(dir string) {
	t := &testing.T{}
	d := &monitor.Desk{Monitor: newMonitor(t, sourceall.Kinds()), Dir: filepath.Join(dir, "state")}
	if err := d.Resume(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := range killed {
		id, err := d.Start(seldom(filepath.Join(dir, fmt.Sprintf("run%d.log", i))))
		if err == nil {
			_, err = d.Wait(context.Background(), id, 0, true)
		}
		fmt.Println(i, id, err)
	}
	fmt.Println("ready")
	select {}
}

// TestAKilledServerLosesNothing kills a server with 100 watches while their
// runs go wrong, again and again, and reads the journals at last.
func TestAKilledServerLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("three servers")
	}
	dir := t.TempDir()
	grow := func(text func(i int) string) {
		for i := range killed {
			appendTo(t, filepath.Join(dir, fmt.Sprintf("run%d.log", i)), text(i))
		}
	}
	grow(func(int) string { return steps(1, 20, "2.5") })
	for round, text := range []string{steps(21, 30, "nan"), steps(31, 60, "1.9"), steps(61, 70, "nan")} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TRAINMEDIC_TEST_SERVER="+dir)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "ready"; {
			if !strings.HasSuffix(lines.Text(), "<nil>") {
				t.Error(lines.Text())
			}
		}
		grow(func(int) string { return text })
		time.Sleep(time.Duration(100+100*round) * time.Millisecond) // some have looked, some have not
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		cmd.Wait()
	}
	d := desk(t, filepath.Join(dir, "state"))
	if err := d.Resume(); err != nil {
		t.Fatal(err)
	}
	for i := range killed {
		id, err := d.Start(seldom(filepath.Join(dir, fmt.Sprintf("run%d.log", i))))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for cursor, tries := 0, 0; tries < 100; tries++ {
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			st, err := d.Wait(ctx, id, cursor, false)
			cancel()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range st.Events {
				if e.Anomaly != nil && e.Anomaly.Type == report.AnomalyNaNInf { // the logs that stand still are told too
					got = append(got, fmt.Sprintf("%s %s", e.Kind, e.Text))
				}
			}
			cursor = st.Cursor
			if strings.Contains(st.Line, "Step 70/") { // what that look saw was told before
				break
			}
		}
		check(t, i, got)
	}
}

// check wants an opened and a closed anomaly in turn. A server that was killed
// for the whole time between a NaN and its recovery saw neither: that is right.
func check(t *testing.T, run int, got []string) {
	t.Helper()
	open := false
	for _, e := range got {
		opens := strings.HasPrefix(e, string(report.EventOpened))
		if opens == open {
			t.Errorf("run %d: told twice or lost: %q", run, got)
			return
		}
		open = opens
	}
	if !open {
		t.Errorf("run %d: the last NaN was not told: %q", run, got)
	}
}

// TestAWatchThatWasStoppedBeginsAnew: also at the next server.
func TestAWatchThatWasStoppedBeginsAnew(t *testing.T) {
	log, dir := filepath.Join(t.TempDir(), "train.log"), t.TempDir()
	appendTo(t, log, steps(1, 20, "2.5"))
	d := desk(t, dir)
	id, err := d.Start(often(log))
	if err != nil {
		t.Fatal(err)
	}
	wait(t, d, id, 0, true, 10*time.Second)
	if _, err := d.Stop(id, 0, "a client asked for it"); err != nil {
		t.Fatal(err)
	}
	d.Close()
	d = desk(t, dir)
	if again, err := d.Start(often(log)); err != nil || again != id {
		t.Fatalf("%s %v", again, err)
	}
	if st := wait(t, d, id, 0, true, 10*time.Second); st.Artifact != nil || len(st.Events) != 0 {
		t.Errorf("the answer is of the watch before: %+v", st)
	}
}
