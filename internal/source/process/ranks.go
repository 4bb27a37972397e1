package process

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/host"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/source/ps"
)

// ranks finds the process of each rank.
func (l *look) ranks() map[int]ps.Member {
	var all []ps.Member
	for _, s := range l.all {
		all = append(all, s.member())
	}
	envs := map[ps.Member]map[string]string{}
	found := ps.Ranks(all, func(m ps.Member) map[string]string {
		env := l.envs[m]
		if len(env) == 0 { // it may be about to start its program, and have its parent's still
			env = ranksIn(environ(m.PID))
		}
		envs[m] = env
		return env
	})
	l.envs = envs
	return found
}

func (s stat) member() ps.Member { return ps.Member{PID: s.pid, Start: s.start} }

func ranksIn(env map[string]string) map[string]string {
	out := map[string]string{}
	for _, name := range ps.RankNames {
		if v := env[name]; v != "" {
			out[name] = v
		}
	}
	return out
}

// lostRanks tells which rank's process ended while the run goes on, and how,
// where that can be seen.
func (l *look) lostRanks(now map[int]ps.Member) {
	lines, next := ps.Lost(l.since[keyRanks], now, func(m ps.Member) string {
		i := slices.IndexFunc(l.all, func(s stat) bool { return s.member() == m })
		switch {
		case i < 0:
			return ps.Gone
		case l.all[i].state == "Z":
			return endOf(l.all[i])
		}
		return ""
	})
	l.obs.Next[keyRanks] = next
	for _, line := range lines {
		l.event("%s", line)
	}
}

// endOf is how a zombie ended: a signal's name, a code, or ps.Gone where this user
// may not know it.
func endOf(s stat) string {
	if s.exit < 0 || !ownedBy(s.pid, os.Geteuid()) {
		return ps.Gone
	}
	switch w := waitStatus(s.exit); {
	case w.Signaled():
		return signalName(w.Signal())
	case w.Exited():
		return strconv.Itoa(w.ExitStatus())
	}
	return ps.Gone
}

// event adds a line to what this source noticed of the processes, which is a
// stream as a log is.
func (l *look) event(format string, args ...any) {
	l.events.WriteString(l.obs.At.UTC().Format(time.RFC3339) + " " + redact.Clip(fmt.Sprintf(format, args...), 300) + "\n")
}

// tell gives the events as a stream.
func (l *look) tell() {
	var size, lines int64
	if at, ok := l.since[keyEvents]; ok {
		l.obs.Next[keyEvents] = at
		_, _ = fmt.Sscan(at, &size, &lines) // our own two numbers
	}
	text := l.events.String()
	if text == "" {
		return
	}
	l.obs.Streams = append(l.obs.Streams, host.Text("processes", "ps", text, size, int(lines)+1))
	l.obs.Next[keyEvents] = fmt.Sprint(size+int64(len(text)), " ", lines+int64(strings.Count(text, "\n")))
}
