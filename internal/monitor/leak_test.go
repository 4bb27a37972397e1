package monitor_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trainmedic/trainmedic/internal/monitor"
	sourceall "github.com/trainmedic/trainmedic/internal/source/all"
)

// use is what a process holds.
type use struct {
	goroutines, files int
	heap              int64
}

func inUse(t *testing.T) use {
	t.Helper()
	synctest.Wait()
	runtime.GC()
	runtime.GC() // finalizers have run
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skipf("no /proc: %v", err)
	}
	return use{runtime.NumGoroutine(), len(open), int64(m.HeapAlloc)}
}

// TestADayLeaksNothing watches runs of several kinds for a simulated day: logs that
// grow and rotate, a folder, ranks, a process, a log that vanishes, watches that
// are stopped and begun anew, clients that come and go. At the end nothing more is
// held than after the second hour.
func TestADayLeaksNothing(t *testing.T) {
	hours, each := 24, 1
	switch {
	case os.Getenv("TRAINMEDIC_SOAK") != "":
		each = 10
	case testing.Short() || slowly: // make test runs the whole day without the race detector
		hours = 6
	}
	dir, state := t.TempDir(), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		d := &monitor.Desk{Monitor: newMonitor(t, sourceall.Kinds()), Dir: state}
		var targets []string
		logs := map[string]int{} // path to step
		for i := range each {
			run := func(name string) string { return filepath.Join(dir, fmt.Sprintf("%d", i), name) }
			for _, name := range []string{"plain.log", "rotating.log", "vanishing.log", "folder/train.log", "ranks/rank0.log", "ranks/rank1.log", "sick.log", "stopped.log"} {
				if err := os.MkdirAll(filepath.Dir(run(name)), 0o700); err != nil {
					t.Fatal(err)
				}
				logs[run(name)] = 0
			}
			targets = append(targets, run("plain.log"), run("rotating.log"), run("vanishing.log"), run("folder"), run("ranks/*.log"), run("sick.log"), run("stopped.log"))
		}
		targets = append(targets, fmt.Sprintf("pid:%d", os.Getpid()))
		grow := func(hour, minute int) {
			for path, step := range logs {
				name := filepath.Base(path)
				if minute == 0 && name == "rotating.log" {
					os.Rename(path, path+".1")
				}
				if minute == 0 && name == "vanishing.log" && hour%3 == 1 {
					os.Remove(path)
				}
				loss := "2.5"
				if name == "sick.log" && hour%2 == 1 && minute < 20 {
					loss = "nan"
				}
				var b strings.Builder
				for range 20 {
					step++
					fmt.Fprintf(&b, "step %d/1000000 loss=%s lr=1e-4\n", step, loss)
				}
				appendTo(t, path, b.String())
				logs[path] = step
			}
		}
		grow(0, 0)
		ids := map[string]string{}
		poll := func(target string) {
			if ids[target] == "" {
				id, err := d.Start(monitor.Request{Target: target})
				if err != nil {
					t.Fatal(err)
				}
				ids[target] = id
			}
			st := wait(t, d, ids[target], 0, true, time.Second)
			if st.Artifact != nil {
				ids[target] = ""
			}
		}
		var first use
		for hour := range hours {
			for minute := range 60 {
				time.Sleep(time.Minute)
				grow(hour, minute)
				if minute%10 == 0 {
					for _, target := range targets {
						poll(target)
					}
				}
				if minute == 30 {
					for target, id := range ids {
						if strings.HasSuffix(target, "stopped.log") && id != "" {
							if _, err := d.Stop(id, 0, "a client asked for it"); err != nil {
								t.Fatal(err)
							}
							ids[target] = ""
						}
					}
				}
			}
			if hour == 1 {
				first = inUse(t)
			}
		}
		last := inUse(t)
		t.Logf("%d watches: after 2 hours %+v, after %d hours %+v", len(targets), first, hours, last)
		if last.goroutines > first.goroutines || last.files > first.files {
			t.Errorf("after 2 hours %+v, after %d hours %+v", first, hours, last)
		}
		if grown := last.heap - first.heap; grown > 512<<10*int64(len(targets)) {
			t.Errorf("the heap grew by %d KB", grown>>10)
		}
		d.Close()
		if end := inUse(t); end.files > 40 || end.goroutines > 10 {
			t.Errorf("after the end: %+v", end)
		}
	})
}
