package crash

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var causes = []failure.Cause{
	{
		Name:  "killed-from-outside",
		Root:  "A process was ended by SIGKILL, which leaves no word of its own. The kernel does so when memory is short, schedulers and people do so too; nothing that was read says which.",
		Fixes: []report.Fix{kernelLog, fewerWorkers, restart},
	},
	{
		Name:  "killed-worker",
		Root:  "A worker process of the loader or pool was ended from outside or died without a word; host memory that ran short is the most frequent reason, but nothing that was read proves it.",
		Fixes: []report.Fix{kernelLog, fewerWorkers, noWorkers},
	},
	{
		Name:  "shm-too-small",
		Root:  "A process died of a bus error or could not share a tensor: /dev/shm is too small for what the processes exchange through it.",
		When:  smallShm,
		Fixes: []report.Fix{shmSize, shmLook, fewerWorkers},
	},
	{
		Name:  "native-fault",
		Root:  "A native library accessed memory that is not its own and the process died of it; the stack names the library, and versions that do not fit together are a frequent reason.",
		Fixes: []report.Fix{coreDump, pinVersions, restart},
	},
	{
		Name:  "heap-corruption",
		Root:  "glibc found the heap destroyed: a native library wrote outside its memory or freed it twice, often two builds of one library in one process.",
		Fixes: []report.Fix{coreDump, pinVersions},
	},
	{
		Name:  "cpu-instruction",
		Root:  "A library died of an arithmetic or illegal-instruction signal of the CPU: a known bug of that version on this hardware, or a build for another CPU.",
		Fixes: []report.Fix{coreDump, pinVersions},
	},
	{
		Name:  "thread-limit",
		Root:  "The user's limit of processes and threads was reached: every rank starts as many threads as the machine has cores.",
		When:  threadLimit,
		Fixes: []report.Fix{oneThread, raiseLimit, showLimits},
	},
	{
		Name:  "open-files",
		Root:  "The process reached its limit of open files; tensors that workers share by file descriptor use one each.",
		Fixes: []report.Fix{moreFiles, showLimits},
	},
	{
		Name:  "hangup",
		Root:  "The terminal or SSH session in which the run was started was closed, and the launcher, which handles SIGHUP itself, stopped its workers. nohup does not protect against that.",
		When:  sessionClosed,
		Fixes: []report.Fix{detached, restart},
	},
	{
		Name:  "preempted",
		Root:  "The scheduler or the cloud took the machine away (preemption, requeue or a node that failed); the program did not fail.",
		Fixes: []report.Fix{restart, saveOften},
	},
	{
		Name:  "time-limit",
		Root:  "The job reached its time limit and the scheduler ended it.",
		Fixes: []report.Fix{restart, longerLimit, saveOften},
	},
	{
		Name:  "terminated",
		Root:  "The processes were asked to end by SIGTERM; what was read does not say by whom. A launcher does so after another process failed, a scheduler at a limit, a person by hand.",
		Fixes: []report.Fix{whoEnded, restart},
	},
	{
		Name:  "abort",
		Root:  "A process ended itself by abort after a native check or an uncaught C++ exception; the lines before it say which.",
		Fixes: []report.Fix{coreDump, pinVersions},
	},
}

var shmLine = regexp.MustCompile(`(?i)(?:^|\s)(?:shm|tmpfs)\s+(?:64M|65536|1\.0M|32M|128M)\b.*/dev/shm|SHMEM allocation limit is set to the default of 64MB`)

func smallShm(f *casefile.File) (float64, []casefile.Evidence) {
	if n, err := strconv.ParseInt(f.Value(run.FactShmSize), 10, 64); err == nil && n <= 128<<20 {
		return evidence(f, casefile.Line{Rank: run.NoRank, Text: fmt.Sprintf("/dev/shm has %d MB", n>>20)})
	}
	for _, s := range f.Streams {
		for _, lines := range [][]casefile.Line{s.Head, s.Tail} {
			for _, l := range lines {
				if shmLine.MatchString(l.Text) {
					return evidence(f, l)
				}
			}
		}
	}
	return 0, nil
}

// evidence speaks for the cause only beside a bus error.
func evidence(f *casefile.File, l casefile.Line) (float64, []casefile.Evidence) {
	if slices.ContainsFunc([]string{"exit-code-bus", "bus-error", "loader-worker-bus-error", "shared-memory-object"}, f.Has) {
		return 0.9, []casefile.Evidence{{Ref: l.Ref, Rank: l.Rank, Text: l.Text}}
	}
	return 0, nil
}

func threadLimit(f *casefile.File) (float64, []casefile.Evidence) {
	e := f.EventsOf("thread-limit")
	if len(e) == 0 {
		return 0, nil
	}
	out := []casefile.Evidence{e[0].Cite()}
	if v, ok := f.Fact("host.nproc_limit"); ok {
		out = append(out, casefile.Evidence{Ref: v.From, Rank: -1, Text: "the limit is " + v.Value + " processes"})
	}
	return 0.9, out
}

func sessionClosed(f *casefile.File) (float64, []casefile.Evidence) {
	v, ok := f.Fact("host.session_closed")
	if !ok || !f.Has("agent-hangup") {
		return 0, nil
	}
	return 0.9, []casefile.Evidence{{Ref: v.From, Rank: -1, Text: "the session was closed"}}
}
