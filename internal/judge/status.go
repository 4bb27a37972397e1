package judge

import (
	"math"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
)

// status says how a failed run ended or stands.
func status(f *casefile.File, primary *suspect, alive []*suspect) report.RunStatus {
	if primary.status != "" && !(primary.status == report.Diverged && fatal(f, alive)) {
		if primary.status == report.Hung && fatal(f, alive) {
			return report.Crashed
		}
		return primary.status
	}
	if stillThere(f) {
		return report.Hung
	}
	ended := outcome(f)
	switch primary.class {
	case report.EvalMismatch:
		return report.Degraded
	case report.NaNInf, report.Divergence:
		if !fatal(f, alive) {
			return report.Diverged
		}
	case report.Stalled:
		if !fatal(f, alive) {
			return report.Hung
		}
	}
	if primary.sticky && !fatal(f, alive) && (ended.completed || f.WentOn(primary.stream, primary.rank, primary.order, 0, primary.at)) {
		return report.Degraded
	}
	return report.Crashed
}

// fatal reports whether something says that a process ended by an error: an
// uncaught exception, an abort, a launcher's report.
func fatal(f *casefile.File, alive []*suspect) bool {
	for _, s := range alive {
		if s.trace != nil || s.class == report.NCCL || s.class == report.Crash {
			return true
		}
	}
	for _, t := range f.Tracebacks {
		if !f.TracebackRecovered(t) && !outcome(f).after(t.Stream, t.Order, t.At) && t.Type != "KeyboardInterrupt" {
			return true
		}
	}
	v := f.Value("exit.code")
	return v != "" && v != "0"
}

// stillThere reports whether a scheduler or service still shows the run as
// running although it failed.
func stillThere(f *casefile.File) bool {
	for _, key := range []string{"slurm.state", "pod.phase"} {
		switch strings.ToUpper(f.Value(key)) {
		case "R", "RUNNING":
			return true
		}
	}
	return f.Pipeline != nil && strings.HasSuffix(strings.ToUpper(f.Pipeline.State), "RUNNING")
}

// confidence is the chance that the primary class is right: the weight of what
// proves it, less what speaks for others.
func confidence(primary *suspect, alive []*suspect) float64 {
	w := primary.weight
	if primary.role == report.RoleSymptom {
		w *= 0.8
	}
	rival := 0.0
	for _, s := range alive {
		if s.class == primary.class || s.role != report.RoleCause || s.yielded == primary.class {
			continue
		}
		if s.weight > rival && (s.yielded == "" || s.compare(primary) < 0) {
			rival = s.weight
		}
	}
	w -= 0.2 * rival
	return math.Round(math.Max(0.05, math.Min(0.98, w))*100) / 100
}
