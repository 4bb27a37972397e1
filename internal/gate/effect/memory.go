package effect

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect/far"
	"github.com/trainmedic/trainmedic/internal/source"
)

// memory is how a run was started: what a restart has to be the same as. Its
// environment and its command hold secrets: it MUST NOT be told as it is.
type memory struct {
	Run    string // the watch that saw it
	Host   string // "" is this machine
	PID    int
	Start  string // with the PID the identity of the process
	Launch far.Launch
	Prints []string
	Seen   time.Time

	kept string // the file that it was read from, "" when this server saw it itself
}

// Seen is what a watch knows of the run that it looks at.
type Seen struct {
	Watch, Host string // Host is "" for this machine
	PID         int    // 0 when it knows only the log
	Log         string
}

const (
	maxMemories  = 1000 // runs that are remembered; the oldest go
	rememberTime = 20 * time.Second
	tryAgain     = time.Minute // to look how a run was started that could not be seen
)

// Remember notes how a live process was started, for a restart of just that. A
// watch calls it at each look; what is known already costs nothing. An error means
// that it is not known, and the next looks try again.
func (e *Effects) Remember(ctx context.Context, s Seen) error {
	if !e.due(s) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rememberTime)
	defer cancel()
	at, err := e.at(s.Host)
	if err != nil {
		return err
	}
	defer at.Close()
	if s.PID == 0 && s.Log != "" {
		if s.PID, err = at.Writer(ctx, s.Log); err != nil {
			return err
		}
	}
	if s.PID == 0 {
		return nil // nobody writes it now
	}
	who, err := at.Process(ctx, s.PID)
	if gone(err) || err == nil && e.knows(s, who.Start) {
		return nil
	}
	if err != nil {
		return err
	}
	m := &memory{Run: s.Watch, Host: s.Host, PID: who.PID, Start: who.Start, Seen: time.Now().UTC()}
	if m.Launch, err = at.Launch(ctx, who.PID); err != nil {
		return err
	}
	l := m.Launch
	if there, err := lives(ctx, at, m.PID, m.Start); len(l.Args) == 0 || l.Env == nil || l.Program == "" || l.Dir == "" || !there {
		return err // this user may not see it, or it ended meanwhile
	}
	if m.Prints, err = at.Prints(ctx, named(l.Program, l.Dir, l.Args)); err != nil {
		return err
	}
	return e.keep(m)
}

// due says whether to look at all: a host is not asked at each look of a watch.
func (e *Effects) due(s Seen) bool {
	if s.Host == "" {
		return true
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if s.PID > 0 && slices.ContainsFunc(e.started, func(m *memory) bool { return m.Run == s.Watch && m.Host == s.Host && m.PID == s.PID && m.kept == "" }) {
		return false
	}
	if e.tried == nil || len(e.tried) > maxMemories {
		e.tried = map[Seen]time.Time{}
	}
	if time.Since(e.tried[s]) < tryAgain {
		return false
	}
	e.tried[s] = time.Now()
	return true
}

func (e *Effects) knows(s Seen, start string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.started, func(m *memory) bool {
		return m.Run == s.Watch && m.Host == s.Host && m.PID == s.PID && m.Start == start && m.kept == ""
	})
}

// keep adds a memory, on disk too. One that an earlier server kept of the same
// process gives way, but for the files as they were then.
func (e *Effects) keep(m *memory) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started = slices.DeleteFunc(e.started, func(o *memory) bool {
		same := o.kept != "" && o.Run == m.Run && o.Host == m.Host && o.PID == m.PID && o.Start == m.Start
		if same {
			m.Prints = o.Prints
		}
		return same
	})
	if e.started = append(e.started, m); len(e.started) > maxMemories {
		e.started = e.started[1:]
	}
	return e.write(m.Run)
}

// recall finds the newest run that a proposal means.
func (e *Effects) recall(p gate.Proposal) (*memory, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	host, pid, _ := processOf(p.Target)
	for _, m := range slices.Backward(e.started) {
		if p.Run != "" && m.Run == p.Run || pid > 0 && m.PID == pid && m.Host == host {
			return m, nil
		}
	}
	return nil, cannot("not_remembered", "how this run was started is not known: it was not watched by a server with actions while it lived (monitor_run remembers it), or it belongs to another user")
}

// processOf is the host and the PID that a target names; ok is false when it names
// none.
func processOf(target string) (host string, pid int, ok bool) {
	host, text := source.Split(strings.TrimPrefix(target, "pid:"))
	pid, err := strconv.Atoi(text)
	return host, pid, err == nil
}

func gone(err error) bool { return errors.Is(err, source.ErrNotFound) }

// named are the program and the files that the arguments name: scripts and
// configurations, whose bytes have to stay. What a script imports is not among
// them.
func named(program, dir string, args []string) []string {
	out := []string{program}
	for _, a := range args[1:] {
		if _, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(a, "-") {
			a = value
		}
		if !filepath.IsAbs(a) {
			a = filepath.Join(dir, a)
		}
		if textual[filepath.Ext(a)] {
			out = append(out, a)
		}
	}
	return out
}

// textual are the files of a command line that say what the run does; a
// checkpoint is not one, and changes as the run goes on.
var textual = map[string]bool{
	"": true, ".py": true, ".sh": true, ".bash": true, ".yaml": true, ".yml": true, ".json": true, ".toml": true, ".cfg": true, ".ini": true, ".ipynb": true, ".conf": true,
}

// known are the prints of files that were there before, too, in the order and number
// of before as far as they are.
func known(was, is []string) []string {
	var out []string
	for _, w := range was {
		out = append(out, w)
		path, _, _ := strings.Cut(w, " ")
		for _, p := range is {
			if strings.HasPrefix(p, path+" ") {
				out[len(out)-1] = p
			}
		}
	}
	return out
}

// changed names the files that are not as they were, "" when all are.
func changed(was, is []string) string {
	var out []string
	for _, p := range is {
		if !slices.Contains(was, p) {
			name, _, _ := strings.Cut(p, " ")
			out = append(out, name)
		}
	}
	if len(out) == 0 && len(was) != len(is) {
		out = []string{"a file that the command names"}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, ", ") + " changed since the run started"
}
