package process

import (
	"cmp"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/ps"
)

// fact tells a value, unless the last look told the same one.
func (l *look) fact(key, value string) {
	if value == "" {
		return
	}
	if l.obs.Next["fact "+key] = value; l.since["fact "+key] != value {
		l.obs.Facts = append(l.obs.Facts, run.Fact{Key: key, Value: value})
	}
}

// live says what a process does and what is below it.
func (l *look) live(s stat) {
	l.all = family(s)
	l.cwd = cwdOf(s.pid)
	l.fact(run.FactPID, strconv.Itoa(s.pid))
	l.fact(run.FactState, s.state)
	l.fact(run.FactCommand, redact.Text(Quote(argsOf(s.pid))))
	l.fact(run.FactCwd, l.cwd)
	l.fact(run.FactUser, userOf(s.pid))
	if at := startOf(s.pid); !at.IsZero() && l.since["fact "+run.FactStart] == "" {
		l.fact(run.FactStart, at.Format(time.RFC3339))
	}
	l.keep(run.FactStart, run.FactPID, run.FactCommand, run.FactCwd, run.FactUser)
	l.fact(run.FactWChan, cmp.Or(wchanOf(s.pid), "0"))
	l.fact(run.FactChildren, strconv.Itoa(len(l.all)-1))
	var rss int64
	cpu, blocked := 0.0, 0
	for _, p := range l.all {
		rss += p.rss
		cpu += p.cpu
		if p.state == "D" {
			blocked++
		}
	}
	l.fact(run.FactBlocked, strconv.Itoa(blocked))
	l.fact(run.FactRSS, strconv.FormatInt(rss, 10))
	l.fact(run.FactCPU, strconv.FormatFloat(cpu, 'f', 2, 64))
	l.environment(s.pid)
	l.limits(s.pid)
	if c := cgroupOf(s.pid); c.dir != "" {
		l.obs.Next[keyCgroup] = fmt.Sprint(c.v1, " ", c.dir)
	}
	if s.state == "Z" && ownedBy(s.pid, os.Geteuid()) {
		l.exit(s.exit)
	}
	ranks := l.ranks()
	l.lostRanks(ranks)
	l.processes(ranks)
}

// keep remembers what was told of a process that does not show it any more: a
// zombie has no command line.
func (l *look) keep(keys ...string) {
	for _, k := range keys {
		if v, ok := l.since["fact "+k]; ok && l.obs.Next["fact "+k] == "" {
			l.obs.Next["fact "+k] = v
		}
	}
}

// processes lists the run's processes when one came, went or changed its state.
func (l *look) processes(ranks map[int]ps.Member) {
	var sign strings.Builder
	rankOf := map[int]int{}
	for rank, m := range ranks {
		rankOf[m.PID] = rank
	}
	var list []run.Process
	for _, s := range l.all {
		p := run.Process{
			PID: s.pid, PPID: s.ppid, State: s.state, RSS: s.rss, WChan: wchanOf(s.pid),
			Command: redact.Clip(Quote(argsOf(s.pid)), 300),
		}
		if p.Command == "" {
			p.Command = "[" + s.name + "]"
		}
		if rank, ok := rankOf[p.PID]; ok {
			p.Rank = &rank
		}
		list = append(list, p)
		fmt.Fprint(&sign, p.PID, p.State, p.WChan, " ")
	}
	const key = "processes"
	if l.obs.Next[key] = digest(sign.String()); l.since[key] != l.obs.Next[key] {
		l.obs.Processes = list
	}
}

// gone says that the process ended, and what is known of how.
func (l *look) gone() {
	for k, v := range l.since {
		if strings.HasPrefix(k, "fact ") || k == keyCgroup || k == keyRanks {
			l.obs.Next[k] = v
		}
	}
	l.cwd = l.since["fact "+run.FactCwd]
	l.fact(run.FactState, run.ProcessGone)
	if l.ended != nil {
		for _, f := range l.ended() {
			l.fact(f.Key, f.Value)
		}
	}
	if l.since["fact "+run.FactExitCode]+l.obs.Next["fact "+run.FactExitCode] == "" {
		l.gap("how process "+strings.Fields(l.obs.Next[keyWho])[0]+" ended", "only who started a process learns its exit code",
			"the exit code that the shell or the scheduler shows; or start the run by trainmedic watch -- COMMAND")
	}
}

// exit makes facts of a wait status.
func (l *look) exit(status int) {
	if status < 0 {
		return
	}
	for _, f := range exitFacts(waitStatus(status)) {
		l.fact(f.Key, f.Value)
	}
}

func (l *look) gap(what, why, ask string) {
	l.obs.Gaps = append(l.obs.Gaps, run.Gap{What: what, Why: why, Ask: ask})
}

var _ source.Source = (*watched)(nil)
