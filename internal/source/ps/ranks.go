package ps

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// RankNames are the variables in which launchers tell a process its rank, the
// surest first: a launcher inside a job of SLURM has the rank of the job's task.
var RankNames = []string{"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}

const maxRanks = 256

// Member is the process of one rank: its PID and when it began, in any form.
type Member struct {
	PID   int
	Start string
}

// Ranks picks the process of each rank of what processes were told, parents
// first: the topmost, since loader workers were told too. env gives the variables
// of a process that are among RankNames.
func Ranks(all []Member, env func(Member) map[string]string) map[int]Member {
	told := map[string]map[int]Member{}
	for _, m := range all {
		for name, value := range env(m) {
			n, err := strconv.Atoi(value)
			if told[name] == nil {
				told[name] = map[int]Member{}
			}
			if _, taken := told[name][n]; err == nil && n >= 0 && !taken && len(told[name]) < maxRanks {
				told[name][n] = m
			}
		}
	}
	for _, name := range RankNames {
		if len(told[name]) > 0 {
			return told[name]
		}
	}
	return nil
}

// Gone is the end of a process of which it is not known how it ended.
const Gone = "gone"

// Lost compares the ranks of a look with those of the looks before: it gives a
// line for each whose process ended while the run goes on, and what the next
// look has to know. end is how a process ended: "" while it lives, Gone, the name
// of a signal, or an exit code.
func Lost(was string, now map[int]Member, end func(Member) string) (lines []string, next string) {
	known, ended := members(was)
	for rank, m := range now {
		if _, ok := known[rank]; !ok {
			known[rank] = m
		}
	}
	var b strings.Builder
	for _, rank := range slices.Sorted(maps.Keys(known)) {
		m := known[rank]
		how := end(m)
		if n, again := now[rank]; again && n != m && how != "" {
			lines = append(lines, fmt.Sprintf("process %d of rank %d has taken the place of process %d", n.PID, rank, m.PID))
			m, how, ended[rank] = n, "", ""
		}
		if how != "" && (ended[rank] == "" || ended[rank] == Gone && how != Gone) {
			ended[rank] = how
			lines = append(lines, fmt.Sprintf("process %d of rank %d %s", m.PID, rank, ending(how)))
		}
		fmt.Fprintf(&b, "%d %d %s %s\n", rank, m.PID, m.Start, ended[rank])
	}
	return lines, b.String()
}

// members reads what an earlier look left.
func members(text string) (known map[int]Member, ended map[int]string) {
	known, ended = map[int]Member{}, map[int]string{}
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
		if len(f) < 4 {
			continue
		}
		rank, err := strconv.Atoi(f[0])
		pid, errPID := strconv.Atoi(f[1])
		if err == nil && errPID == nil {
			known[rank], ended[rank] = Member{pid, f[2]}, f[3]
		}
	}
	return known, ended
}

// ending are the words that the signatures of lost ranks look for.
func ending(how string) string {
	switch {
	case how == Gone:
		return "has ended while the run goes on; how is not known"
	case strings.HasPrefix(how, "SIG"), strings.HasPrefix(how, "signal"):
		return "was ended by " + how + " while the run goes on"
	}
	return "ended with exit code " + how + " while the run goes on"
}
