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
		Name: "native-stack",
		Doc:  "The log ends in a native stack trace without an exception: a library died.",
		Run:  nativeStack,
	},
	{
		Name: "exit-by-signal",
		Doc:  "A launcher reports a process that a signal ended, in a form that no signature knows.",
		Run:  exitBySignal,
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

func nativeStack(f *casefile.File) []failure.Sighting {
	for _, e := range f.Events {
		if e.Sign.Role == report.RoleCause && !f.Recovered(e) {
			return nil
		}
	}
	for _, s := range f.Logs() {
		n, first := 0, casefile.Line{}
		for _, l := range s.Tail {
			if stackFrame.MatchString(l.Text) {
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
