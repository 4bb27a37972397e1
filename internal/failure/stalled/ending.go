package stalled

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/failure"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// idle is how long a process may take to end after its work was done.
const idle = 20 * time.Minute

// doneNotEnded finds a run that had said that its training was done, or had begun
// to wait for an upload or for its peers, and was ended by a limit or a person.
func doneNotEnded(f *casefile.File) []failure.Sighting {
	if failed(f) {
		return nil
	}
	for _, e := range f.Events {
		if !endedByOthers[e.Sign.ID] || !nearEnd(e) {
			continue
		}
		mark := lastMark(f, e)
		if mark == nil {
			continue
		}
		if m := f.Main(); m != nil && m.LastRef.File == mark.Ref.File && m.LastRef.Line > mark.Ref.Line {
			continue
		}
		gap := time.Duration(0)
		if end := endOf(e); !end.IsZero() && !mark.At.IsZero() {
			gap = end.Sub(mark.At)
			if gap < idle || gap > 60*24*time.Hour {
				continue
			}
		} else if !strings.Contains(strings.ToUpper(e.Text), "TIME LIMIT") {
			continue
		}
		says := "The run had said that it was done and did not end; a limit or a person ended it."
		if gap > 0 {
			says = fmt.Sprintf("The run had said that it was done and did not end; it was ended from outside %s later.", gap.Round(time.Minute))
		}
		l := casefile.Line{Ref: mark.Ref, Rank: mark.Rank, Text: mark.Text}
		v := sight(0.86, "hangs-at-the-end", l, says)
		v.Also = []run.Ref{e.Ref}
		return []failure.Sighting{v}
	}
	return nil
}

func nearEnd(e *casefile.Event) bool { return e.Ref.Line > e.Stream.Lines-30 }

// lastMark is the last line before an end that says that the training was done
// or that the process waits for its own end; the latter counts more.
func lastMark(f *casefile.File, end *casefile.Event) *casefile.Event {
	var done, teardown *casefile.Event
	for _, x := range f.Events {
		if x.Stream != end.Stream || x.Order >= end.Order {
			continue
		}
		switch {
		case x.Sign.ID == "teardown-wait":
			teardown = x
		case x.Sign.Sets["run.outcome"] == "completed":
			done = x
		}
	}
	if teardown != nil {
		m := *teardown
		if m.At.IsZero() && done != nil {
			m.At = done.At
		}
		return &m
	}
	return done
}

func endOf(e *casefile.Event) time.Time {
	if g := cancelledAt.FindStringSubmatch(e.Text); g != nil {
		if t, err := time.Parse("2006-01-02T15:04:05", g[1]); err == nil {
			return t
		}
	}
	return e.At
}

// resources are the words of schedulers whose job gets nothing to run on.
var resources = regexp.MustCompile(`(?i)has not accepted any resources|cannot be scheduled right now|resource request cannot be (?:scheduled|fulfilled)|pending and cannot be fulfilled|No available node types can fulfill|placement group .{0,80}(?:pending|infeasible|cannot be)|infeasible (?:resource|task|actor|placement)|queued and waiting for resources|Pending job allocation|job is pending|waiting for (?:\d+ )?(?:more |all )?(?:workers?|executors?|resources|gpus?|nodes?|capacity|clients|allocation)\b|no workers? (?:found|available|connected|registered)|waiting for .{0,40}to (?:become ready|be ready|be scheduled|be allocated|come up|join|register)|(?:waiting|blocking)\b.{0,50}\block\b|holding the lock|(?:current |job )?status: (?:pending|queued|preparing|not ?started)|phase=Pending|still (?:pending|queued|waiting)`)

// waitsForResources finds a log that ends in the same complaint again and again.
func waitsForResources(f *casefile.File) []failure.Sighting {
	if failed(f) || completed(f) {
		return nil
	}
	for _, s := range f.Logs() {
		n, last := 0, casefile.Line{}
		rest := withoutEnd(s.Tail)
		for i, r := range slices.Backward(rest) {
			if !resources.MatchString(r.Text) {
				if n == 0 && i >= len(rest)-2 {
					continue
				}
				if n > 0 {
					break
				}
				return nil
			}
			n++
			last = r
		}
		if n < 3 {
			continue
		}
		return []failure.Sighting{sight(0.8, "no-resources", last, fmt.Sprintf("The log ends with %d lines that say that the job waits for resources or workers which it does not get.", n))}
	}
	return nil
}

// byOther is what schedulers and shells print when they end a run.
var byOther = regexp.MustCompile(`slurmstepd: |srun: |CANCELLED AT|^\s*(?:Terminated|Killed|Hangup)\s*$|^\^?C?KeyboardInterrupt|^\s*$`)

// withoutEnd is a tail without the words of who ended the run.
func withoutEnd(tail []casefile.Line) []casefile.Line {
	for n := len(tail); n > 0 && n > len(tail)-8; n-- {
		if !byOther.MatchString(tail[n-1].Text) {
			return tail[:n]
		}
	}
	return tail
}

var (
	waitFrames = regexp.MustCompile(`(?:threading|queue|queues|synchronize|connection|selectors|socket|subprocess|popen_\w+|_base|process|pool|thread|futex|filelock|_soft|_unix|_api|file_baton|ssl|fcntl|base_events)\.py:(?:acquire|_?wait\w*|poll|_poll|select|recv\w*|_recv\w*|get|join|read\w*|result|connect|create_connection|communicate|_try_wait|lock|run_once|_run_once|accept)\b`)
	sharedWait = regexp.MustCompile(`rendezvous|barrier|all_?reduce|all_?gather|reduce_gradients|broadcast|init_process_group|TCPStore|store\.wait|torch/distributed|horovod|mpi4py`)
	loaderWait = regexp.MustCompile(`dataloader\.py:(?:_try_get_data|_get_data|_next_data)`)
)

// interruptedWhileWaiting finds a person's Ctrl-C in a program that waited for a
// lock, a queue, a socket or a child and had made no progress for long, or none.
func interruptedWhileWaiting(f *casefile.File) []failure.Sighting {
	if failed(f) || completed(f) {
		return nil
	}
	for _, t := range f.Tracebacks {
		if !strings.HasSuffix(t.Type, "KeyboardInterrupt") || t.Earlier != nil || len(t.Frames) == 0 || !inner(t, 4, waitFrames) || inner(t, 8, sharedWait) || !stood(f, t) {
			continue
		}
		cause := "no-progress"
		if inner(t, 8, loaderWait) {
			cause = "loader-workers"
		}
		fr, _ := t.Innermost()
		v := sight(0.72, cause, casefile.Line{Ref: t.Ref, Rank: t.Rank, Text: "KeyboardInterrupt"}, fmt.Sprintf("A person interrupted the program while it waited in %s without progress.", run.Name(fr.Func)))
		v.Also = []run.Ref{t.First}
		v.YieldsTo = []report.Class{report.OOM, report.NCCL, report.DataPipeline}
		return []failure.Sighting{v}
	}
	return nil
}

// inner reports whether one of a traceback's innermost frames matches.
func inner(t *casefile.Traceback, n int, re *regexp.Regexp) bool {
	for i := max(0, len(t.Frames)-n); i < len(t.Frames); i++ {
		if re.MatchString(t.Frames[i].String()) {
			return true
		}
	}
	return false
}

// stood reports whether no training was reported before a traceback, or none for
// long.
func stood(f *casefile.File, t *casefile.Traceback) bool {
	m := f.Main()
	if m == nil {
		return true
	}
	at := t.At
	if at.IsZero() {
		at = t.Stream.Last
	}
	return !m.LastTime.IsZero() && at.Sub(m.LastTime) >= idle
}

// ended reports whether an event is no more than how processes die that a limit
// or a person had ended before.
func ended(f *casefile.File, e *casefile.Event) bool {
	if e.Sign.Class != report.Crash || e.Trace != nil || e.Sign.Sets["exit.signal"] == "SIGSEGV" {
		return false
	}
	for _, x := range f.Events {
		if endedByOthers[x.Sign.ID] && x.Stream == e.Stream && x.Order < e.Order && e.Order-x.Order < 30 {
			return true
		}
	}
	return false
}
