package judge

import (
	"math"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
)

// status says how a failed run ended or stands. Hung is also a run that a person
// or a limit ended while it made no progress.
func status(f *casefile.File, primary *suspect, alive []*suspect) report.RunStatus {
	if stillThere(f) {
		return report.Hung
	}
	died := fatal(f, alive)
	waiting := primary.class == report.Stalled || primary.status == report.Hung || primary.class == report.NCCL && endedByLimit(alive) || unplaced.MatchString(primary.text)
	switch {
	case primary.status == report.Degraded && primary.class == report.Stalled && !died:
		return report.Degraded
	case waiting && !died:
		return report.Hung
	case primary.status == report.Degraded || primary.class == report.EvalMismatch:
		return report.Degraded
	case (primary.status == report.Diverged || primary.class == report.NaNInf || primary.class == report.Divergence) && !died:
		return report.Diverged
	case primary.sticky && primary.class != report.Pipeline && primary.class != report.CloudQuota && !died && (outcome(f).completed || f.WentOn(primary.stream, primary.rank, 0, primary.at)):
		return report.Degraded
	}
	return report.Crashed
}

// fatal reports whether a process ended by an error of its own: an exception
// that nobody caught, an abort, a signal that no scheduler sent.
func fatal(f *casefile.File, alive []*suspect) bool {
	limit := endedByLimit(alive)
	for _, s := range alive {
		switch {
		case s.trace != nil, s.class == report.NCCL && aborts.MatchString(s.text):
			return true
		case s.class == report.Crash && !limit && s.status == "" && !asked.MatchString(s.text):
			return true
		}
	}
	end := outcome(f)
	for _, t := range f.Tracebacks {
		if !f.TracebackRecovered(t) && !end.after(t.Stream, t.Order, t.At, true) && t.Type != "KeyboardInterrupt" && t.Type != "SystemExit" {
			return true
		}
	}
	v := f.Value("exit.code")
	return v != "" && v != "0" && !limit
}

// endedByLimit reports whether a scheduler, a service or a person ended the run.
func endedByLimit(alive []*suspect) bool {
	for _, s := range alive {
		if byLimit.MatchString(s.text) {
			return true
		}
	}
	return false
}

var (
	unplaced = regexp.MustCompile(`\bFailedScheduling\b|nodes are available: `) // its pod waits for a node, and goes on waiting
	byLimit  = regexp.MustCompile(`(?i)(due to time limit|due to preemption|MaxRuntimeExceeded|MaxWaitTimeExceeded|activeDeadlineSeconds|DeadlineExceeded|CANCELLED AT|KeyboardInterrupt|state[^a-z]{1,4}TIMEOUT|scancel|JOB_STATE_EXPIRED|walltime)`)
	asked    = regexp.MustCompile(`SIGTERM|\bTerminated\b|signal 15\b`)
	aborts   = regexp.MustCompile(`(?i)(abort|terminat|exception|taking the entire process down|taking down the entire process|\bError\b)`)
)

// stillThere reports whether a scheduler or service still shows the run as
// running although it failed.
func stillThere(f *casefile.File) bool {
	for _, key := range []string{"slurm.state", "pod.phase"} {
		switch strings.ToUpper(f.Value(key)) {
		case "R", "RUNNING":
			return !f.Has("k8s-job-backoff") // a pod that is started again and again
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
	return math.Round(calibrated(w)*100) / 100
}

// calibration maps what the evidence weighs to how often such a verdict is right.
// It was fitted on the corpus and on cases written apart from it: strong evidence
// without a rival is right more often than its authors dared to say, weak
// evidence less.
var calibration = []struct{ raw, right float64 }{{0, 0.05}, {0.3, 0.25}, {0.5, 0.5}, {0.6, 0.68}, {0.7, 0.88}, {0.8, 0.95}, {0.9, 0.97}, {1, 0.98}}

func calibrated(w float64) float64 {
	w = math.Max(0, math.Min(1, w))
	for i := 1; i < len(calibration); i++ {
		a, b := calibration[i-1], calibration[i]
		if w <= b.raw {
			return a.right + (b.right-a.right)*(w-a.raw)/(b.raw-a.raw)
		}
	}
	return calibration[len(calibration)-1].right
}
