package crash

import (
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var detectors = []failure.Detector{
	{
		Name: "killed-line",
		Doc:  "The log ends with the shell's bare \"Killed\", alone or behind a progress bar.",
		Run:  killedLine,
	},
	{
		Name: "terminated-line",
		Doc:  "The log ends with the shell's bare \"Terminated\", with nothing that says that the run was done.",
		Run:  terminatedLine,
	},
	{
		Name: "native-stack",
		Doc:  "The log ends in a native stack trace without an exception: a library died.",
		Run:  nativeStack,
	},
	{
		Name: "exit-by-signal",
		Doc:  "A launcher reports a process that a signal ended, in a form that no signature knows.",
		Run:  exitBySignal,
	},
	{
		Name: "exit-status-of-a-signal",
		Doc:  "The exit status that a pod, container or scheduler records is that of a signal, and nothing else says why the run ended.",
		Run:  exitStatus,
	},
}

var (
	killedWord = regexp.MustCompile(`(?:^|[\]\s)|])Killed\s*$`)
	stackFrame = regexp.MustCompile(`^\s*(?:#?\d+[: ]+)?(?:0x[0-9a-f]+ )?\S*\.so[.\d]*(?:\([^)]*\))? ?\[0x[0-9a-f]+\]|^\s*\d+\s+\S+\.so[.\d]*\(\+0x[0-9a-f]+\)`)
)

// lastLines is how near the end a bare word must stand to be the last one.
const lastLines = 4

func killedLine(f *casefile.File) []failure.Sighting {
	for _, s := range f.Logs() {
		for i := len(s.Tail) - 1; i >= 0 && i >= len(s.Tail)-lastLines; i-- {
			l := s.Tail[i]
			if !killedWord.MatchString(l.Text) || strings.Contains(l.Text, "signal: Killed") || strings.Contains(l.Text, "srun: error") {
				continue
			}
			weight := 0.8
			if f.Has("nccl-watchdog-timeout") { // the ranks hung before
				weight = 0.4
			}
			return []failure.Sighting{{
				Type: report.AnomalyCrash, Severity: report.Blocker, Role: report.RoleCause, Weight: weight, Cause: "killed-from-outside",
				Rank: l.Rank, Step: -1, Ref: l.Ref, Text: l.Text, Says: "The log ends with \"Killed\": the process received SIGKILL and could not say why.",
				YieldsTo: []report.Class{report.OOM},
			}}
		}
	}
	return nil
}

// terminatedLine finds a run that somebody asked to end (SIGTERM): the shell
// says it in one bare word, and the process had no handler.
func terminatedLine(f *casefile.File) []failure.Sighting {
	if v := f.Value("run.outcome"); v == "completed" {
		return nil
	}
	for _, s := range f.Logs() {
		if len(s.Tail) == 0 {
			continue
		}
		l := s.Tail[len(s.Tail)-1]
		if strings.TrimSpace(l.Text) != "Terminated" {
			continue
		}
		return []failure.Sighting{{
			Type: report.AnomalyCrash, Severity: report.High, Role: report.RoleCause, Weight: 0.7, Cause: "terminated", Rank: l.Rank, Step: -1, Ref: l.Ref, Text: l.Text,
			Says: "The log ends with \"Terminated\": the process was asked to end (SIGTERM) in the middle of its work.", YieldsTo: []report.Class{report.OOM, report.Pipeline, report.CloudQuota},
		}}
	}
	return nil
}

func nativeStack(f *casefile.File) []failure.Sighting {
	for _, e := range f.Events {
		if e.Sign.Role == report.RoleCause && !f.Recovered(e) {
			return nil
		}
	}
	for _, s := range f.Logs() {
		n, first := 0, casefile.Line{}
		for _, l := range s.Tail {
			if strings.Contains(l.Text, ".so") && stackFrame.MatchString(l.Text) {
				if n++; n == 1 {
					first = l
				}
			}
		}
		if n < 4 {
			continue
		}
		return []failure.Sighting{{
			Type: report.AnomalyCrash, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.55, Cause: "native-fault",
			Rank: first.Rank, Step: -1, Ref: first.Ref, Text: first.Text, Says: "The log ends in the stack of a native library.",
			YieldsTo: []report.Class{report.OOM, report.CUDA, report.NCCL},
		}}
	}
	return nil
}

func exitBySignal(f *casefile.File) []failure.Sighting {
	for _, e := range f.Events {
		if e.Sign.Class == report.Crash && e.Sign.Role == report.RoleCause {
			return nil
		}
	}
	for _, e := range f.Exits {
		switch e.Code {
		case -9, -11, -7, -8, -4:
		default:
			continue
		}
		rank := e.Rank
		if rank == run.NoRank {
			rank = e.Local
		}
		cause := map[int]string{-9: "killed-from-outside", -11: "native-fault", -7: "shm-too-small", -8: "cpu-instruction", -4: "cpu-instruction"}[e.Code]
		return []failure.Sighting{{
			Type: report.AnomalyCrash, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.75, Cause: cause,
			Rank: rank, Step: -1, Ref: e.Ref, Text: f.TextAt(e.Ref), Says: "A launcher reports a process that a signal ended.", YieldsTo: []report.Class{report.OOM},
		}}
	}
	return nil
}

// statuses are exit statuses as services record them: 128 plus the signal, or
// SLURM's "code:signal".
var statuses = map[string]struct {
	signal, cause string
	weight        float64
}{
	"137": {"SIGKILL", "killed-from-outside", 0.72}, "0:9": {"SIGKILL", "killed-from-outside", 0.72}, "-9": {"SIGKILL", "killed-from-outside", 0.72},
	"139": {"SIGSEGV", "native-fault", 0.85}, "0:11": {"SIGSEGV", "native-fault", 0.85}, "-11": {"SIGSEGV", "native-fault", 0.85},
	"135": {"SIGBUS", "shm-too-small", 0.85}, "0:7": {"SIGBUS", "shm-too-small", 0.85}, "-7": {"SIGBUS", "shm-too-small", 0.85},
	"136": {"SIGFPE", "cpu-instruction", 0.85}, "132": {"SIGILL", "cpu-instruction", 0.85},
	"129": {"SIGHUP", "hangup", 0.8}, "0:1": {"SIGHUP", "hangup", 0.8},
}

func exitStatus(f *casefile.File) []failure.Sighting {
	for _, key := range []string{"exit.code", "pod.exit_code", "container.exit_code", "slurm.exit_code"} {
		v, ok := f.Fact(key)
		s, known := statuses[v.Value]
		if !ok || !known || strings.HasPrefix(key, "pod.") && restarted(f) {
			continue
		}
		return []failure.Sighting{{
			Type: report.AnomalyCrash, Severity: report.Blocker, Role: report.RoleCause, Weight: s.weight, Cause: s.cause, Rank: run.NoRank, Step: -1,
			Ref: v.From, Text: key + " " + v.Value, Says: "The recorded exit status " + run.Name(v.Value) + " is that of " + s.signal + ".",
			YieldsTo: []report.Class{report.OOM},
		}}
	}
	return nil
}

// restarted reports whether a pod ended well after all: what it records of an
// earlier attempt was survived.
func restarted(f *casefile.File) bool {
	switch strings.ToUpper(f.Value("pod.phase")) {
	case "SUCCEEDED", "COMPLETED":
		return true
	}
	n := f.Value("pod.restart_count")
	return n != "" && n != "0" && f.Value("run.outcome") == "completed"
}
