//go:build unix

package monitor_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/monitor"
)

// TestLoad measures TRAINMEDIC_LOAD watches on growing logs for a minute; it is
// for by hand: a thousand take a while to start. The logs are written by a process
// of their own, as trainings do: what is measured is the watching.
func TestLoad(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("TRAINMEDIC_LOAD"))
	if n == 0 {
		t.Skip("set TRAINMEDIC_LOAD to a number of watches")
	}
	dir := t.TempDir()
	write := logWriter(t, dir, n)
	write(1, 200)
	d := desk(t, filepath.Join(dir, "state"))
	begin := time.Now()
	for i := range n {
		id, err := d.Start(monitor.Request{Target: filepath.Join(dir, fmt.Sprintf("run%d.log", i)), NoBackoff: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if _, err := d.Wait(ctx, id, 0, true); err != nil {
			t.Fatal(err)
		}
		cancel()
		time.Sleep(time.Until(begin.Add(time.Duration(i) * 30 * time.Second / time.Duration(n)))) // spread
	}
	before, at := used(), time.Now()
	for minute := range 2 {
		write(201+minute*10, 210+minute*10)
		time.Sleep(30 * time.Second)
	}
	cpu, wall := used()-before, time.Since(at)
	most := grep("VmHWM")
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d watches: %.1f %% of one core (the writer, a process of its own, not counted), heap %d MB, obtained from the system %d MB\n%s\n%s",
		n, 100*cpu.Seconds()/wall.Seconds(), m.HeapAlloc>>20, m.Sys>>20, grep("VmRSS"), most)
}

func used() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// grep is the line of this process's status that begins with a word.
func grep(word string) string {
	b, _ := os.ReadFile("/proc/self/status")
	for l := range strings.Lines(string(b)) {
		if strings.HasPrefix(l, word) {
			return strings.TrimSpace(l)
		}
	}
	return ""
}
