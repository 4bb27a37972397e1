package judge

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// diskFilling warns before a checkpoint does not fit: the free space against
// the size of the checkpoints, or against how fast it shrinks.
func diskFilling(f *casefile.File) *report.Anomaly {
	g := fullest(f)
	if len(g) == 0 {
		return nil
	}
	free := g[len(g)-1].Value
	a := &report.Anomaly{
		Type: report.AnomalyDiskFilling, Severity: report.Medium, Class: report.IOCheckpoint,
		Fix: "make room before the next checkpoint: move old checkpoints elsewhere, or keep fewer of them",
	}
	if size := checkpointSize(f.Checkpoints); size > 0 && free < 2*size {
		which := "the checkpoint after next"
		if free < size {
			which, a.Severity = "the next checkpoint", report.High
		}
		a.Description = fmt.Sprintf("%s will not fit: %s are free and a checkpoint takes %s.", which, bytesOf(free), bytesOf(size))
		return a
	}
	if left, ok := until(g, 0); ok && left < time.Hour {
		if left < 15*time.Minute {
			a.Severity = report.High
		}
		a.Description = fmt.Sprintf("The disk is full in %s at the present rate: %s are free.", report.Took(left), bytesOf(free))
		return a
	}
	return nil
}

// fullest is the free space of the file system, of those that the run writes to,
// that has least.
func fullest(f *casefile.File) []casefile.Gauge {
	var least []casefile.Gauge
	for _, key := range slices.Sorted(maps.Keys(f.Pulse.Gauges)) {
		g := f.Pulse.Gauges[key]
		if strings.HasPrefix(key, "disk.") && strings.HasSuffix(key, run.DiskAvail) && (least == nil || g[len(g)-1].Value < least[len(least)-1].Value) {
			least = g
		}
	}
	return least
}

// checkpointSize is the median size of the newest checkpoints, 0 when unknown.
func checkpointSize(all []run.Checkpoint) float64 {
	var sizes []float64
	for _, c := range all {
		if c.Size > 0 && (c.Complete == nil || *c.Complete) {
			sizes = append(sizes, float64(c.Size))
		}
	}
	return middle(sizes[max(0, len(sizes)-5):])
}

// memoryLeak warns of memory that grows through and through towards its limit.
func memoryLeak(f *casefile.File) *report.Anomaly {
	g := f.Pulse.Gauges[run.FactRSS]
	limit := memoryLimit(f)
	if len(g) < 8 || limit <= 0 {
		return nil
	}
	now := g[len(g)-1].Value
	left, grows := until(g, limit)
	if !grows || now < limit/4 || left > 24*time.Hour {
		return nil
	}
	a := &report.Anomaly{
		Type: report.AnomalyMemoryLeak, Severity: report.Medium, Class: report.OOM,
		Description: fmt.Sprintf("The memory of the run grows without pause: %s of %s, full in %s at this rate.", bytesOf(now), bytesOf(limit), report.Took(left)),
		Fix:         "look for what is kept from step to step: losses kept with their graph, growing lists, data loader workers that copy a large object",
	}
	if left < 30*time.Minute {
		a.Severity = report.High
	}
	return a
}

// memoryLimit is the least of what limits the run's memory, in bytes.
func memoryLimit(f *casefile.File) float64 {
	least := 0.0
	for _, key := range []string{run.FactMemoryMax, run.FactMemoryTotal} {
		if n, err := strconv.ParseFloat(f.Value(key), 64); err == nil && n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// until is when a quantity reaches a bound if it goes on as in the last half of
// its readings. It is false unless the quantity moves there steadily: at least
// seven of eight stretches go the same way and over several looks.
func until(g []casefile.Gauge, bound float64) (time.Duration, bool) {
	g = g[len(g)/2:]
	if len(g) < 4 {
		return 0, false
	}
	first, last := g[0], g[len(g)-1]
	change, wall := last.Value-first.Value, last.At.Sub(first.At)
	toGo := bound - last.Value
	if wall <= 0 || change == 0 || (change > 0) != (toGo > 0) || abs(change) < 0.02*abs(first.Value) {
		return 0, false
	}
	same := 0
	for i := 1; i < len(g); i++ {
		if d := g[i].Value - g[i-1].Value; d == 0 || (d > 0) == (change > 0) {
			same++
		}
	}
	if same*8 < (len(g)-1)*7 || !spreadOut(g, change) {
		return 0, false
	}
	return time.Duration(min(toGo/change*wall.Seconds(), 1e8) * float64(time.Second)), true
}

// spreadOut reports whether no single look makes up most of the change: a model
// that is loaded, or one checkpoint, is no trend.
func spreadOut(g []casefile.Gauge, change float64) bool {
	steps := []float64{}
	for i := 1; i < len(g); i++ {
		steps = append(steps, abs(g[i].Value-g[i-1].Value))
	}
	return slices.Max(steps) < 0.6*abs(change)
}

func abs(v float64) float64 { return max(v, -v) }

func bytesOf(n float64) string {
	for _, u := range []struct {
		size float64
		name string
	}{{1 << 40, "TB"}, {1 << 30, "GB"}, {1 << 20, "MB"}, {1 << 10, "KB"}} {
		if n >= u.size {
			return fmt.Sprintf("%.1f %s", n/u.size, u.name)
		}
	}
	return fmt.Sprintf("%.0f bytes", n)
}

// deadlineRisk compares the time left to train with the time left until the
// run's wall-clock limit.
func deadlineRisk(f *casefile.File) *report.Anomaly {
	end, err := time.Parse(time.RFC3339, f.Value(run.FactDeadline))
	if err != nil || len(f.Pulse.Beats) < 3 {
		return nil
	}
	likely, low, _, ok := f.Left()
	left := end.Sub(f.At)
	if !ok || likely <= left {
		return nil
	}
	a := &report.Anomaly{
		Type: report.AnomalyDeadlineRisk, Severity: report.Medium, Hold: 2,
		Description: fmt.Sprintf("The run needs about %s more and its time ends in %s.", report.Took(likely), report.Took(max(0, left))),
		Fix:         "save a checkpoint before the limit and plan a second job that resumes from it, or ask for a longer limit",
	}
	if low > left {
		a.Severity = report.High
	}
	return a
}
