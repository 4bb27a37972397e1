package ps

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/host"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/run"
)

// look is one look at a process.
type look struct {
	*watched
	since   run.Cursor
	obs     run.Observation
	family  []process // the process and those below it, while it lives
	visible string    // which GPUs it was told
	events  strings.Builder
}

func (l *look) gap(what, why, ask string) {
	l.obs.Gaps = append(l.obs.Gaps, run.Gap{What: what, Why: why, Ask: ask})
}

// fact tells a value, unless the last look told the same one.
func (l *look) fact(key, value string) {
	if l.obs.Next["fact "+key] = value; value != "" && l.since["fact "+key] != value {
		l.obs.Facts = append(l.obs.Facts, run.Fact{Key: key, Value: value})
	}
}

// reading tells a quantity: at each look of a watch, else when it changed.
func (l *look) reading(f run.Fact) {
	if l.opt.Watch {
		l.obs.Facts = append(l.obs.Facts, f)
		return
	}
	l.fact(f.Key, f.Value)
}

// live says what the process does and what is below it.
func (l *look) live(ctx context.Context) {
	root := l.family[0]
	var rss int64
	var cpu time.Duration
	blocked := 0
	for _, p := range l.family {
		rss += p.rss
		cpu += p.cpu
		if p.state == "D" {
			blocked++
		}
	}
	l.fact(run.FactPID, strconv.Itoa(root.pid))
	l.fact(run.FactState, root.state)
	l.fact(run.FactCommand, redact.Text(root.args))
	l.fact(run.FactStart, l.obs.Next[keyBegan])
	l.fact(run.FactChildren, strconv.Itoa(len(l.family)-1))
	l.fact(run.FactBlocked, strconv.Itoa(blocked))
	l.fact(run.FactRSS, strconv.FormatInt(rss, 10))
	l.fact(run.FactCPU, strconv.FormatFloat(cpu.Seconds(), 'f', 2, 64))
	ranks := l.ranks(ctx)
	rankOf := map[int]int{}
	for rank, m := range ranks {
		rankOf[m.PID] = rank
	}
	var sign strings.Builder
	var list []run.Process
	for _, p := range l.family {
		t := run.Process{PID: p.pid, PPID: p.ppid, State: p.state, Command: redact.Clip(p.args, 300), RSS: p.rss}
		if rank, ok := rankOf[p.pid]; ok {
			t.Rank = &rank
		}
		list = append(list, t)
		fmt.Fprint(&sign, p.pid, p.state, " ")
	}
	if l.obs.Next["processes"] = sign.String(); l.since["processes"] != sign.String() {
		l.obs.Processes = list
	}
}

const maxEnvirons = 64 // processes whose environment is asked for

// ranks finds the process of each rank, and tells which was lost.
func (l *look) ranks(ctx context.Context) map[int]Member {
	var all []Member
	there := map[int]process{}
	for _, p := range l.family {
		there[p.pid] = p
		if len(all) < maxEnvirons {
			all = append(all, Member{PID: p.pid})
		}
	}
	now := Ranks(all, func(m Member) map[string]string { return l.environ(ctx, m.PID) })
	lines, next := Lost(l.since[keyRanks], now, func(m Member) string {
		if p, ok := there[m.PID]; ok && p.state != "Z" {
			return ""
		}
		return Gone
	})
	l.obs.Next[keyRanks] = next
	for _, line := range lines {
		l.events.WriteString(l.obs.At.UTC().Format(time.RFC3339) + " " + line + "\n")
	}
	return now
}

// environ is what a process was told of its rank and its GPUs.
func (l *look) environ(ctx context.Context, pid int) map[string]string {
	out, err := l.shell.Run(ctx, "cat", fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil
	}
	env := map[string]string{}
	for v := range strings.SplitSeq(string(out), "\x00") {
		name, value, _ := strings.Cut(v, "=")
		if name == "CUDA_VISIBLE_DEVICES" && l.visible == "" {
			l.visible = value
		}
		for _, n := range RankNames {
			if n == name && value != "" {
				env[n] = value
			}
		}
	}
	return env
}

// gone says that the process ended.
func (l *look) gone() {
	for k, v := range l.since {
		if strings.HasPrefix(k, "fact ") || k == keyRanks {
			l.obs.Next[k] = v
		}
	}
	l.fact(run.FactState, run.ProcessGone)
	l.gap("how process "+strings.Fields(l.obs.Next[keyWho])[0]+" ended", "only who started a process learns its exit code", "the exit code that the shell or the scheduler shows")
}

// tell gives what was noticed as a stream.
func (l *look) tell() {
	var size, lines int64
	if at, ok := l.since[keyEvents]; ok {
		l.obs.Next[keyEvents] = at
		_, _ = fmt.Sscan(at, &size, &lines) // our own two numbers
	}
	if text := l.events.String(); text != "" {
		l.obs.Streams = append(l.obs.Streams, host.Text("processes", "ps", text, size, int(lines)+1))
		l.obs.Next[keyEvents] = fmt.Sprint(size+int64(len(text)), " ", lines+int64(strings.Count(text, "\n")))
	}
}
