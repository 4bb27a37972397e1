package effect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/process"
)

// Bounds of a command that an agent gives: a person has to read it.
const (
	maxArgs    = 200
	maxCommand = 8 << 10
)

func (e *Effects) resolveRestart(_ context.Context, p gate.Proposal) (gate.Resolved, error) {
	m, err := e.recall(p)
	if err != nil {
		return gate.Resolved{}, err
	}
	args := m.args
	var path string
	if p.Action == gate.RestartWith {
		if err := readable(p.Args); err != nil {
			return gate.Resolved{}, err
		}
		args = p.Args.Command
	}
	if path, err = program(args[0], m.dir, m.env); err != nil {
		return gate.Resolved{}, err
	}
	if st, err := os.Stat(m.dir); err != nil || !st.IsDir() {
		return gate.Resolved{}, cannot("gone", "the folder where it worked is gone: %s", m.dir)
	}
	if m.who.Lives() {
		return gate.Resolved{}, cannot("still_runs", "process %d of this run still runs; terminate it first, or let it be", m.who.PID)
	}
	for _, again := range [][]string{m.args, args} {
		if pid := running(again, m.dir); pid != 0 {
			return gate.Resolved{}, cannot("still_runs", "the same command runs in the same folder as process %d", pid)
		}
	}
	now := prints(resolved(path), m.dir, args)
	r := gate.Resolved{Target: gate.Target{
		PID: m.who.PID, Start: m.who.Start, Command: args, Env: p.Args.Env, Dir: m.dir, Log: m.log, Path: path,
		Prints: append(now, "environment "+digest(m.env)), Lineage: m.lineage(),
	}}
	r.Does = []string{"start, in " + run.Name(m.dir) + ":", "  " + process.Quote(args)}
	if p.Action == gate.Restart {
		r.Changed = changed(m.prints, now)
		r.Does = append(r.Does, fmt.Sprintf("the command, the folder and the environment (%d variables) of process %d, which has ended", len(m.env), m.who.PID))
	} else {
		r.Changed = changed(m.prints, known(m.prints, now))
		r.Does = append(r.Does, "instead of: "+process.Quote(m.args), fmt.Sprintf("with the remembered environment (%d variables)", len(m.env)))
	}
	for _, k := range slices.Sorted(maps.Keys(p.Args.Env)) {
		r.Does = append(r.Does, "  and "+run.Name(k)+"="+process.Quote([]string{p.Args.Env[k]}))
	}
	where := "a new log in " + e.logs()
	if m.log != "" {
		where = m.log
	}
	r.Does = append(r.Does, "its output is appended to "+where)
	return r, nil
}

// lineage is the same for each restart of one run, whatever it is changed to.
func (m *memory) lineage() string { return m.dir + "\x00" + strings.Join(m.args, "\x00") }

func (e *Effects) logs() string { return filepath.Join(e.Dir, "logs") }

// restart starts the command of the permit; the run outlives this process.
func (e *Effects) restart(ctx context.Context, p gate.Permit) (gate.Outcome, error) {
	m, err := e.recall(p.Proposal())
	if err != nil {
		return gate.Outcome{}, err
	}
	t := p.Target()
	env := slices.Clone(m.env)
	for _, k := range slices.Sorted(maps.Keys(t.Env)) {
		env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, k+"=") })
		env = append(env, k+"="+t.Env[k])
	}
	l := source.Launch{Args: t.Command, Path: t.Path, Dir: t.Dir, Env: env, LogDir: e.logs()}
	if st, err := os.Lstat(t.Log); err == nil && st.Mode().IsRegular() {
		l.Log = t.Log
	}
	run, err := e.Start(ctx, l, source.Options{Watch: true})
	if err != nil {
		return gate.Outcome{}, err
	}
	e.adopt(m, run, env, t)
	return gate.Outcome{Text: fmt.Sprintf("started as process %d; its output goes to %s", run.PID(), run.Log()), Run: run, Watch: m.run}, nil
}

// adopt remembers a run that was started here under the name of the one before
// it. What is known of it is exact, however soon it ends.
func (e *Effects) adopt(was *memory, run source.Started, env []string, t gate.Target) {
	who, err := process.Know(run.PID())
	if err != nil {
		who = process.Known{PID: run.PID()}
	}
	m := &memory{
		run: was.run, who: who, args: t.Command, env: env, program: resolved(t.Path), dir: t.Dir, log: run.Log(),
		prints: prints(resolved(t.Path), t.Dir, t.Command),
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started = append(e.started, m)
}

// readable refuses a command that a person could not read as it is.
func readable(a gate.Args) error {
	all := slices.Clone(a.Command)
	for k, v := range a.Env {
		if k == "" || strings.ContainsAny(k, "=\x00") {
			return cannot("bad_arguments", "env: %.40q is no name of a variable", k)
		}
		all = append(all, k, v)
	}
	size := 0
	for _, s := range all {
		size += len(s)
		if i := strings.IndexFunc(s, func(r rune) bool {
			return !unicode.IsGraphic(r) || unicode.Is(unicode.Cf, r) || r == unicode.ReplacementChar
		}); i >= 0 {
			return cannot("bad_arguments", "command: %.60q holds a character that cannot be seen; put such text into a file", s)
		}
	}
	switch {
	case len(a.Command) == 0 || a.Command[0] == "":
		return cannot("bad_arguments", "restart_with needs command: the whole command as a list of words")
	case len(all) > maxArgs || size > maxCommand:
		return cannot("bad_arguments", "command: %d words of %d bytes are more than a person reads; put them into a file", len(all), size)
	}
	return nil
}

// program finds the file of a command as the run's own shell would.
func program(name, dir string, env []string) (string, error) {
	var tried []string
	if strings.ContainsRune(name, '/') {
		tried = []string{name}
	} else {
		for _, v := range env {
			if path, ok := strings.CutPrefix(v, "PATH="); ok {
				for _, d := range filepath.SplitList(path) {
					tried = append(tried, filepath.Join(d, name))
				}
			}
		}
	}
	for _, path := range tried {
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0 {
			return path, nil
		}
	}
	return "", cannot("gone", "no program %.80q is found with the run's own PATH", name)
}

func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// running is a process with that command line in that folder, 0 if there is none.
func running(args []string, dir string) int {
	for _, pid := range process.All() {
		if slices.Equal(process.Args(pid), args) && process.Cwd(pid) == dir {
			if k, err := process.Know(pid); err == nil && k.Lives() {
				return pid
			}
		}
	}
	return 0
}

func digest(values []string) string {
	sum := sha256.Sum256([]byte(strings.Join(values, "\x00")))
	return hex.EncodeToString(sum[:16])
}
