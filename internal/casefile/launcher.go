package casefile

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

// Exit is one process that a launcher reports as failed. What it calls the
// first failure is a claim: a real torchrun names a surviving rank when another
// one raised or was killed.
type Exit struct {
	Rank   int // run.NoRank when only a local rank or none is told
	Local  int
	Code   int // negative: the signal
	Host   string
	PID    int
	First  bool // the launcher calls it the root cause
	Only   bool // and reports no other failure
	Proven bool // the process left an error file of its own
	Time   string
	Ref    run.Ref
}

// launcherMarks are literals of the reports that exits are read from.
var launcherMarks = []string{"(local_rank: ", "Root Cause (first observed", "exitcode  : ", "(exitcode: ", "exits with return code", "--local_rank=", "--local-rank=", ": task ", "noticed that process rank", "was invoked on rank", "-- Process ", " terminated with signal", "error_file: ", "  time      : ", "<NO_OTHER_FAILURES>", "closing signal SIGTERM", ") exited with code ", ") world_rank="}

var (
	elasticRank = regexp.MustCompile(`^\s*rank\s+: (\d+) \(local_rank: (\d+)\)`)
	elasticCode = regexp.MustCompile(`^\s*exitcode\s+: (-?\d+) \(pid: (\d+)\)`)
	elasticTime = regexp.MustCompile(`^\s*time\s+: (\S+)`)
	elasticFile = regexp.MustCompile(`^\s*error_file: (\S+)`)
	stopped     = regexp.MustCompile(`Sending process (\d+) closing signal SIGTERM`)
	elasticFail = regexp.MustCompile(`failed \(exitcode: (-?\d+)\) local_rank: (\d+) \(pid: (\d+)\)`)
	returnCode  = regexp.MustCompile(`--local[_-]rank=(\d+).*exits with return code = (-?\d+)`)
	diedWith    = regexp.MustCompile(`--local[_-]rank=(\d+).*(?:died with <Signals\.\w+: (\d+)>|returned non-zero exit status (\d+))`)
	srunTask    = regexp.MustCompile(`srun: error: (\S+): tasks? (\d+)\S*: (Segmentation fault|Killed|Aborted|Bus error|Exited with exit code (\d+)|Out Of Memory|Floating point exception|Illegal instruction|Terminated)`)
	mpiRank     = regexp.MustCompile(`(?:noticed that process rank (\d+) with PID.*exited on signal (\d+)|MPI_ABORT was invoked on rank (\d+))`)
	rayWorker   = regexp.MustCompile(`\bpid=(\d+)\) world_rank=(\d+)`)
	composer    = regexp.MustCompile(`^(?:ERROR:composer\.cli\.launcher:)?Global rank (\d+) \(PID (\d+)\) exited with code (-?\d+)`)
	spawned     = regexp.MustCompile(`(?:-- Process (\d+) terminated|[Pp]rocess (\d+) terminated with signal (SIG\w+))`)
)

var signalNumbers = map[string]int{
	"Segmentation fault": 11, "Killed": 9, "Out Of Memory": 9, "Aborted": 6, "Bus error": 7, "Floating point exception": 8, "Illegal instruction": 4, "Terminated": 15,
	"SIGKILL": 9, "SIGSEGV": 11, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGTERM": 15, "SIGHUP": 1, "SIGINT": 2, "SIGILL": 4,
}

// RankOfPID is the key of the fact that tells the rank of a process.
func RankOfPID(pid string) string { return "pid." + pid + ".rank" }

// launcher reads one line of a launcher's report.
func (rd *reading) launcher(l *lineAt) {
	line := string(l.text)
	switch {
	case strings.Contains(line, "Root Cause (first observed"):
		rd.rootCause = true
	case strings.Contains(line, "<NO_OTHER_FAILURES>"):
		rd.onlyOne = true
	case elasticTime.MatchString(line):
		rd.exitTime = elasticTime.FindStringSubmatch(line)[1]
	case elasticRank.MatchString(line):
		m := elasticRank.FindStringSubmatch(line)
		rd.exit(Exit{Rank: num(m[1]), Local: num(m[2]), First: rd.rootCause, Only: rd.rootCause && rd.onlyOne, Time: rd.exitTime, Ref: l.ref})
	case elasticCode.MatchString(line):
		m := elasticCode.FindStringSubmatch(line)
		if n := len(rd.f.Exits); n > 0 {
			rd.f.Exits[n-1].Code, rd.f.Exits[n-1].PID = num(m[1]), num(m[2])
		}
		rd.rootCause = false
	case elasticFile.MatchString(line):
		if n := len(rd.f.Exits); n > 0 && elasticFile.FindStringSubmatch(line)[1] != "<N/A>" {
			rd.f.Exits[n-1].Proven = true
		}
	case stopped.MatchString(line):
		rd.exit(Exit{Rank: run.NoRank, Local: run.NoRank, Code: -15, PID: num(stopped.FindStringSubmatch(line)[1]), Ref: l.ref})
	case elasticFail.MatchString(line):
		m := elasticFail.FindStringSubmatch(line)
		rd.exit(Exit{Rank: run.NoRank, Local: num(m[2]), Code: num(m[1]), PID: num(m[3]), First: true, Ref: l.ref})
	case returnCode.MatchString(line):
		m := returnCode.FindStringSubmatch(line)
		rd.exit(Exit{Rank: run.NoRank, Local: num(m[1]), Code: num(m[2]), First: true, Ref: l.ref})
	case diedWith.MatchString(line):
		m := diedWith.FindStringSubmatch(line)
		rd.exit(Exit{Rank: run.NoRank, Local: num(m[1]), Code: num(m[3]) - num(m[2]), First: true, Ref: l.ref})
	case srunTask.MatchString(line):
		m := srunTask.FindStringSubmatch(line)
		rd.exit(Exit{Rank: num(m[2]), Local: run.NoRank, Code: num(m[4]) - signalNumbers[m[3]], Host: m[1], Ref: l.ref})
	case mpiRank.MatchString(line):
		m := mpiRank.FindStringSubmatch(line)
		rd.exit(Exit{Rank: num(m[1] + m[3]), Local: run.NoRank, Code: -num(m[2]), First: true, Ref: l.ref})
	case rayWorker.MatchString(line):
		m := rayWorker.FindStringSubmatch(line)
		rd.f.AddFact(run.Fact{Key: RankOfPID(m[1]), Value: m[2], From: l.ref})
	case composer.MatchString(line):
		m := composer.FindStringSubmatch(line)
		rd.exit(Exit{Rank: num(m[1]), Local: run.NoRank, Code: num(m[3]), PID: num(m[2]), Ref: l.ref})
	case spawned.MatchString(line):
		m := spawned.FindStringSubmatch(line)
		rd.exit(Exit{Rank: num(m[1] + m[2]), Local: num(m[1] + m[2]), Code: -signalNumbers[m[3]], First: true, Ref: l.ref})
	}
}

const maxExits = 2048

func (rd *reading) exit(e Exit) {
	if len(rd.f.Exits) < maxExits {
		rd.f.Exits = append(rd.f.Exits, e)
	}
}

// num is a decimal number, 0 for what a regexp left empty.
func num(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}
