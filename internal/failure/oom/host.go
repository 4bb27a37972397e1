package oom

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var (
	// freeRow is the row of free: total, used, free, shared, cache, available.
	freeRow    = regexp.MustCompile(`^Mem:\s+([0-9.]+)\S*\s+([0-9.]+)\S*\s+([0-9.]+)\S*\s+([0-9.]+)\S*\s+([0-9.]+)\S*\s+([0-9.]+)`)
	killedWord = regexp.MustCompile(`(?:^|[\]\s)|])Killed\s*$`)
)

// usedUp is the share of its memory below which a host counts as full.
const usedUp = 0.035

// killedOnFullHost joins a kill that nothing explains with a listing of the
// host's memory that shows none left.
func killedOnFullHost(f *casefile.File) []failure.Sighting {
	full, ok := fullHost(f)
	if !ok {
		return nil
	}
	at := casefile.Line{Rank: run.NoRank}
	for _, e := range f.Events {
		kill := e.Sign.Sets["exit.signal"] == "SIGKILL" || e.Sign.ID == "loader-worker-killed" || e.Sign.ID == "slurm-task-signal" || e.Sign.ID == "died-of-kill-words"
		if kill && e.Sign.Class == report.Crash && !f.Recovered(e) {
			at = casefile.Line{Ref: e.Ref, Rank: e.Rank, Text: e.Text}
		}
	}
	for _, s := range f.Logs() {
		for i := len(s.Tail) - 1; i >= 0 && i >= len(s.Tail)-4 && at.Ref.File == ""; i-- {
			if killedWord.MatchString(s.Tail[i].Text) {
				at = s.Tail[i]
			}
		}
	}
	if at.Ref.File == "" {
		return nil
	}
	return []failure.Sighting{{
		Type: report.AnomalyOOM, Severity: report.Blocker, Role: report.RoleCause, Weight: 0.88, Cause: "host-memory", Rank: at.Rank, Step: -1,
		Ref: at.Ref, Text: at.Text, Also: []run.Ref{full.Ref}, Says: fmt.Sprintf("The process was killed by SIGKILL while the host's memory was used up (%s).", run.Quote(full.Text)),
	}}
}

func fullHost(f *casefile.File) (casefile.Line, bool) {
	for _, s := range f.Streams {
		for _, l := range s.Head {
			m := freeRow.FindStringSubmatch(l.Text)
			if m == nil {
				continue
			}
			total, _ := strconv.ParseFloat(m[1], 64)
			available, _ := strconv.ParseFloat(m[6], 64)
			if total > 0 && available <= usedUp*total {
				return l, true
			}
		}
	}
	return casefile.Line{}, false
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
