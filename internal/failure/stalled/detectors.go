package stalled

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

var detectors = []failure.Detector{
	{Name: "ranks-never-joined", Doc: "Ranks wait in the store barrier for others that were never started, and nothing else failed.", Run: neverJoined},
	{Name: "build-lock-left-over", Doc: "A rank waits for the lock of an extension's build folder, left by an earlier build, and never comes to the barrier.", Run: buildLock},
	{Name: "alive-without-progress", Doc: "Process lists, stack dumps or the scheduler show the run alive, and its log ended without an error.", Run: aliveNoProgress},
	{Name: "silence-before-the-end", Doc: "The scheduler or a person ended the run long after its last sign of progress.", Run: silenceBeforeEnd},
	{Name: "job-goes-on-without-log", Doc: "The scheduler shows the job running far longer than its log speaks.", Run: jobWithoutLog},
	{Name: "throughput-collapse", Doc: "The rate fell below half of its early level and stayed there while the loss went on.", Run: throughputCollapse},
	{Name: "shuffle-buffer-fills", Doc: "The first batch waits for a shuffle buffer that would take many hours to fill.", Run: shuffleBufferFills},
	{Name: "limit-before-first-step", Doc: "The time limit came before the first training step.", Run: limitBeforeFirstStep},
	{Name: "waits-for-input", Doc: "The log ends with a question to a person at a terminal.", Run: waitsForInput},
	{Name: "done-and-not-ended", Doc: "The run had said that it was done, or waited for an upload or for its peers to end, and a limit or a person ended it long after.", Run: doneNotEnded},
	{Name: "waits-for-resources", Doc: "The log ends in the repeated complaint that the job gets no resources or workers.", Run: waitsForResources},
	{Name: "interrupted-while-waiting", Doc: "A person interrupted a program that waited for a lock, queue, socket or child without progress.", Run: interruptedWhileWaiting},
	{Name: "heartbeat-without-progress", Doc: "The log goes on (heartbeats, waiting lines) long after the last training step, to its end.", Run: heartbeatOnly},
}

// failed reports whether something failed by itself: then the waiting of the
// others is a consequence.
func failed(f *casefile.File) bool {
	for _, e := range f.Events {
		if e.Sign.Role == report.RoleCause && e.Sign.Class != report.Stalled && e.Sign.Class != report.None && e.Sign.Weight >= 0.5 && !endedByOthers[e.Sign.ID] && !f.Recovered(e) && !ended(f, e) {
			return true
		}
	}
	for _, t := range f.Tracebacks {
		if !f.TracebackRecovered(t) && !interrupted(t) {
			return true
		}
	}
	return false
}

// endedByOthers are ends that tell nothing of why the run stood still.
var endedByOthers = map[string]bool{"slurm-time-limit": true, "slurm-cancelled": true, "agent-terminated": true}

func interrupted(t *casefile.Traceback) bool {
	return strings.HasSuffix(t.Type, "KeyboardInterrupt") || strings.Contains(t.Type, "SignalException")
}

// completed reports whether the run's own words near its end say that it is
// done; earlier ones may be those of a first stage.
func completed(f *casefile.File) bool {
	v, ok := f.Fact("run.outcome")
	if !ok || v.Value != "completed" {
		return false
	}
	for _, s := range f.Streams {
		if s.Name == v.From.File {
			return v.From.Line > s.Lines-20 && v.From.Line*2 > s.Lines
		}
	}
	return true
}

func sight(weight float64, cause string, l casefile.Line, says string) failure.Sighting {
	return failure.Sighting{
		Type: report.AnomalyStalled, Severity: report.High, Role: report.RoleCause, Weight: weight, Cause: cause, Rank: l.Rank, Step: -1,
		Ref: l.Ref, Text: l.Text, Says: says, Status: report.Hung,
	}
}

func neverJoined(f *casefile.File) []failure.Sighting {
	waits := f.EventsOf("store-barrier-waiting")
	if len(waits) == 0 || failed(f) || f.Has("store-barrier-timeout") || f.Main() != nil {
		return nil
	}
	e := waits[len(waits)-1]
	joined, world := f.Value("dist.joined"), f.Value("dist.world_size")
	if joined == world || joined == "" {
		return nil
	}
	l := casefile.Line{Ref: e.Ref, Rank: e.Rank, Text: e.Text}
	return []failure.Sighting{sight(0.85, "ranks-never-started", l, fmt.Sprintf("The ranks wait for others: %s of %s joined, and no training step was made.", joined, world))}
}

var lockFile = regexp.MustCompile(`(?:^|[\s/])(?:lock|\S+\.lock)\s*$`)

func buildLock(f *casefile.File) []failure.Sighting {
	b := f.EventsOf("build-lock")
	if len(b) == 0 || f.Has("build-lock-released") || f.Main() != nil {
		return nil
	}
	e := b[len(b)-1]
	l := casefile.Line{Ref: e.Ref, Rank: builder(f, e.Rank), Text: e.Text}
	for _, s := range f.Streams {
		for _, x := range s.Head {
			if s.Kind != "" && s.Kind != casefile.KindLog && lockFile.MatchString(x.Text) {
				v := sight(0.9, "stale-lock", l, "The build of an extension never went on, and a lock lies in its folder.")
				v.Also = []run.Ref{x.Ref}
				return []failure.Sighting{v}
			}
		}
	}
	if !f.Has("nccl-watchdog-timeout") || failed(f) {
		return nil
	}
	return []failure.Sighting{sight(0.6, "stale-lock", l, "The build of an extension never went on while the other ranks waited until their time was over.")}
}

var timedOutRank = regexp.MustCompile(`\[Rank (\d+)\] Watchdog`)

// builder is the rank that builds: the line's own, else rank 0 where the other
// ranks' watchdogs spoke and its own did not.
func builder(f *casefile.File, rank int) int {
	if rank != run.NoRank {
		return rank
	}
	others := false
	for _, e := range f.EventsOf("nccl-watchdog-timeout") {
		m := timedOutRank.FindStringSubmatch(e.Text)
		if m != nil && m[1] == "0" {
			return run.NoRank
		}
		others = others || m != nil
	}
	if others {
		return 0
	}
	return run.NoRank
}

// waiting are places of a stack or wait channel where a process waits for others.
var waiting = regexp.MustCompile(`futex_wait|__lll_lock_wait|pthread_cond_(?:timed)?wait|gomp_\w*(?:barrier|wait)|kmp_\w*wait|sem_(?:timed)?wait|(?:acquire|wait|_wait_for_tstate_lock|get) \((?:threading|multiprocessing|queue)|imdecode|pipe_write|pipe_wait|nfs_|rpc_wait|io_schedule|barrier|all_reduce|all_gather|destroy_process_group|_try_get_data|_get_data`)

// nativeFrame is a frame of a native stack or of py-spy's, wherever it was pasted.
var nativeFrame = regexp.MustCompile(`^\s*#\d+\s+\S|^ {4}\S+ \([\w./-]+\.py:\d+\)$`)

func aliveNoProgress(f *casefile.File) []failure.Sighting {
	if failed(f) {
		return nil
	}
	l, ok := lastLine(f)
	if !ok {
		return nil
	}
	stacks, listed, proof := 0, 0, casefile.Line{}
	for _, s := range f.Streams {
		for _, x := range s.Head {
			if !waiting.MatchString(x.Text) {
				continue
			}
			switch {
			case s.Kind == "pyspy" || s.Kind == "gdb" || nativeFrame.MatchString(x.Text):
				stacks++
			case s.Kind == "ps":
				listed++
			default:
				continue
			}
			if stacks+listed == 1 {
				proof = x
			}
		}
	}
	blocked := 0
	for _, p := range f.Processes {
		if live := p.Ref.File == ""; live && !silent(f) {
			continue
		}
		if strings.HasPrefix(p.State, "D") || strings.Contains(p.WChan, "futex") {
			blocked++
		}
	}
	switch {
	case stacks == 0 && completed(f):
	case stacks+listed > 0:
		v := sight(0.84, stackCause(f), l, "The log stops here, and the processes still exist and wait.")
		v.Also = []run.Ref{proof.Ref}
		return []failure.Sighting{v}
	case blocked > 0:
		return []failure.Sighting{sight(0.75, "no-progress", l, fmt.Sprintf("The log stops here, and %d of its processes still exist and wait in the kernel.", blocked))}
	}
	return nil
}

// silent reports whether nothing was written to a log for so long that a live
// process whose threads wait is more than one that waits for its next batch.
func silent(f *casefile.File) bool {
	for _, s := range f.Logs() {
		if f.At.Sub(s.ModTime) < quietLog {
			return false
		}
	}
	return true
}

const quietLog = 10 * time.Minute

func stackCause(f *casefile.File) string {
	for _, s := range f.Streams {
		if s.Kind != "pyspy" && s.Kind != "gdb" {
			continue
		}
		for _, l := range s.Head {
			if strings.Contains(l.Text, "torch/utils/data") || strings.Contains(l.Text, "imdecode") || strings.Contains(l.Text, "_try_get_data") {
				return "loader-workers"
			}
		}
	}
	return "no-progress"
}

// lastLine is the last thing that the training log says.
func lastLine(f *casefile.File) (casefile.Line, bool) {
	var best *casefile.Stream
	for _, s := range f.Logs() {
		if len(s.Tail) > 0 && (best == nil || s.Bytes > best.Bytes) {
			best = s
		}
	}
	if best == nil {
		return casefile.Line{}, false
	}
	return best.Tail[len(best.Tail)-1], true
}

var cancelledAt = regexp.MustCompile(`CANCELLED AT (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)`)

func silenceBeforeEnd(f *casefile.File) []failure.Sighting {
	m := f.Main()
	if failed(f) || completed(f) {
		return nil
	}
	for _, e := range f.Events {
		if !endedByOthers[e.Sign.ID] {
			continue
		}
		end, last := e.At, time.Time{}
		if g := cancelledAt.FindStringSubmatch(e.Text); g != nil {
			if t, err := time.Parse("2006-01-02T15:04:05", g[1]); err == nil {
				end = t
			}
		}
		ref := casefile.Line{}
		if m != nil {
			last, ref = m.LastTime, casefile.Line{Ref: m.LastRef, Rank: m.Rank, Text: f.TextAt(m.LastRef)}
		}
		if last.IsZero() || end.IsZero() || end.Sub(last) < quiet || end.Sub(last) > 60*24*time.Hour {
			continue
		}
		v := sight(0.78, "no-progress", ref, fmt.Sprintf("The last progress was %s before the run was ended from outside.", end.Sub(last).Round(time.Minute)))
		v.Also = []run.Ref{e.Ref}
		return []failure.Sighting{v}
	}
	return nil
}

// quiet is how long a run may say nothing before it counts as standing still;
// checkpoints of big models and evaluations stay below it.
const quiet = 30 * time.Minute

func heartbeatOnly(f *casefile.File) []failure.Sighting {
	m := f.Main()
	if m == nil || m.LastTime.IsZero() || failed(f) || completed(f) || m.Progress().Completed {
		return nil
	}
	for _, s := range f.Logs() {
		if s.Readers[m.Rank] != m || s.Last.Sub(m.LastTime) < time.Hour || s.Last.Sub(m.LastTime) > 60*24*time.Hour {
			continue
		}
		after := 0
		for _, l := range s.Tail {
			if l.Ref.Line > m.LastRef.Line {
				after++
			}
		}
		if after < 3 || m.EvalLast.Line > m.LastRef.Line {
			continue
		}
		l := casefile.Line{Ref: m.LastRef, Rank: m.Rank, Text: f.TextAt(m.LastRef)}
		return []failure.Sighting{sight(0.62, "no-progress", l, fmt.Sprintf("The log goes on for %s after the last training step.", s.Last.Sub(m.LastTime).Round(time.Minute)))}
	}
	return nil
}

// jobWithoutLog compares how long the job runs with how long its log speaks.
func jobWithoutLog(f *casefile.File) []failure.Sighting {
	state := strings.ToUpper(f.Value("slurm.state"))
	if state != "R" && state != "RUNNING" || failed(f) || completed(f) {
		return nil
	}
	v, ok := f.Fact("slurm.elapsed")
	l, there := lastLine(f)
	var spoke time.Duration
	for _, s := range f.Logs() {
		spoke = max(spoke, s.Last.Sub(s.First))
	}
	if !ok || !there || spoke <= 0 || elapsed(v.Value)-spoke < 2*time.Hour {
		return nil
	}
	x := sight(0.72, "no-progress", l, fmt.Sprintf("The job runs since %s, and its log says nothing more after its first %s.", elapsed(v.Value).Round(time.Minute), spoke.Round(time.Minute)))
	x.Also = []run.Ref{v.From}
	return []failure.Sighting{x}
}

// elapsed reads SLURM's [days-]hours:minutes:seconds.
func elapsed(s string) time.Duration {
	var days, h, m, sec int
	if d, rest, ok := strings.Cut(s, "-"); ok {
		if _, err := fmt.Sscanf(d, "%d", &days); err != nil {
			return 0
		}
		s = rest
	}
	if n, _ := fmt.Sscanf(s, "%d:%d:%d", &h, &m, &sec); n < 3 {
		h, m, sec = 0, h, m
	}
	return time.Duration(days*24+h)*time.Hour + time.Duration(m)*time.Minute + time.Duration(sec)*time.Second
}
