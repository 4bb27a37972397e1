package file

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

var (
	// rank3.log, rank_3, stderr.rank-3, log_rank3, worker3.log, workerlog.3, proc0, task-2: the
	// word and its number; "node" is not among them, since a node has many ranks.
	rankWord = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:log_?)?(?:global_?)?(rank|worker(?:log)?|proc|process|task|trainer|gpu)[-_.=]?(\d{1,6})(?:[^0-9]|$)`)
	// SLURM's %t: slurm-123_4.out does not tell (an array), slurm-123.4.out does not
	// either (a step); slurm-123-t4.out and job.123.task.4 do.
	slurmTask = regexp.MustCompile(`(?i)(?:^|[-_.])t(\d{1,6})\.(?:out|err|log)$`)
	attempt   = regexp.MustCompile(`(?:^|/)attempt_\d+/(\d{1,6})/(?:stdout|stderr)\.log$|(?:^|/)attempt_\d+/(\d{1,6})/error\.json$`)
	notLog    = regexp.MustCompile(`(?i)(?:local_?rank)`)
)

// RankOf is the rank that a file's name tells, or run.NoRank. The name is
// relative, with forward slashes: torchelastic names ranks by folder
// (attempt_0/3/stderr.log). Of several words the one nearest the end counts.
func RankOf(name string) int {
	if m := attempt.FindStringSubmatch(name); m != nil {
		return number(m[1] + m[2])
	}
	base := path.Base(name)
	if m := slurmTask.FindStringSubmatch(base); m != nil {
		return number(m[1])
	}
	if r := rankIn(base); r != run.NoRank {
		return r
	}
	if dir := path.Base(path.Dir(name)); strings.Contains(strings.ToLower(dir), "rank") {
		return rankIn(dir)
	}
	return run.NoRank
}

func rankIn(s string) int {
	if notLog.MatchString(s) {
		return run.NoRank
	}
	rank := run.NoRank
	for {
		m := rankWord.FindStringSubmatchIndex(s)
		if m == nil {
			return rank
		}
		rank = number(s[m[4]:m[5]])
		s = s[m[5]:]
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return run.NoRank
	}
	return n
}
