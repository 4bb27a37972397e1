package effect

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect/far"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/process"
)

func (e *Effects) resolveRestart(ctx context.Context, p gate.Proposal) (gate.Resolved, error) {
	m, err := e.recall(p)
	if err != nil {
		return gate.Resolved{}, err
	}
	args := m.Launch.Args
	if p.Action == gate.RestartWith {
		if err := readable(p.Args); err != nil {
			return gate.Resolved{}, err
		}
		args = p.Args.Command
	}
	at, err := e.at(m.Host)
	if err != nil {
		return gate.Resolved{}, err
	}
	defer at.Close()
	path, now, err := m.startable(ctx, at, args)
	if err != nil {
		return gate.Resolved{}, err
	}
	who, err := at.Identity(ctx)
	if err != nil {
		return gate.Resolved{}, err
	}
	log, err := e.logOf(ctx, at, m)
	if err != nil {
		return gate.Resolved{}, err
	}
	r := gate.Resolved{Target: gate.Target{
		Host: m.Host, PID: m.PID, Start: m.Start, Command: args, Env: p.Args.Env, Dir: m.Launch.Dir, Log: log, Path: path,
		Prints: append(append(slices.Clone(now), "environment "+digest(m.Launch.Env)), who...), Lineage: m.lineage(),
	}}
	r.Does = []string{"start, in " + run.Name(m.Launch.Dir) + on(m.Host) + ":", "  " + process.Quote(args)}
	if p.Action == gate.Restart {
		r.Changed = cmp.Or(changed(m.Prints, now), m.doubt())
		r.Does = append(r.Does, fmt.Sprintf("the command, the folder and the environment (%d variables) of process %d, which has ended", len(m.Launch.Env), m.PID))
	} else {
		r.Changed = cmp.Or(changed(m.Prints, known(m.Prints, now)), m.doubt())
		r.Does = append(r.Does, "instead of: "+process.Quote(m.Launch.Args), fmt.Sprintf("with the remembered environment (%d variables)", len(m.Launch.Env)))
	}
	for _, k := range slices.Sorted(maps.Keys(p.Args.Env)) {
		r.Does = append(r.Does, "  and "+run.Name(k)+"="+process.Quote([]string{p.Args.Env[k]}))
	}
	r.Does = append(r.Does, "its output is appended to "+cmp.Or(log, "a new log in "+e.logs()))
	return r, nil
}

// on says where something is done, "" for this machine.
func on(host string) string {
	if host == "" {
		return ""
	}
	return " on " + host
}

// doubt is why a memory alone is not enough, "" when this server saw the run.
func (m *memory) doubt() string {
	if m.kept == "" {
		return ""
	}
	return "how it was started was kept by an earlier server in " + m.kept
}

// startable wants that a command can be started in the place of the run: its
// program and the folder are there, and the run is not. It gives the program's
// file, and the prints of what the command names.
func (m *memory) startable(ctx context.Context, at place, args []string) (path string, now []string, err error) {
	path, real, err := at.First(ctx, tried(args[0], m.Launch.Dir, m.Launch.Env))
	if err != nil {
		return "", nil, err
	}
	if path == "" || strings.HasPrefix(args[0], "-") {
		return "", nil, cannot("gone", "no program %.80q is found with the run's own PATH%s", args[0], on(m.Host))
	}
	if there, err := at.IsDir(ctx, m.Launch.Dir); err != nil || !there {
		return "", nil, cmp.Or(err, cannot("gone", "the folder where it worked is gone: %s%s", m.Launch.Dir, on(m.Host)))
	}
	if runs, err := lives(ctx, at, m.PID, m.Start); err != nil || runs {
		return "", nil, cmp.Or(err, cannot("still_runs", "process %d of this run still runs%s; terminate it first, or let it be", m.PID, on(m.Host)))
	}
	for _, again := range [][]string{m.Launch.Args, args} {
		if pid, err := at.Running(ctx, again, m.Launch.Dir); err != nil || pid != 0 {
			return "", nil, cmp.Or(err, cannot("still_runs", "the same command runs in the same folder as process %d%s", pid, on(m.Host)))
		}
	}
	now, err = at.Prints(ctx, named(real, m.Launch.Dir, args))
	return path, now, err
}

// tried are the files that a command may mean with the run's own PATH.
func tried(name, dir string, env []string) (out []string) {
	if strings.ContainsRune(name, '/') {
		out = []string{name}
	} else {
		for _, v := range env {
			if path, ok := strings.CutPrefix(v, "PATH="); ok {
				for _, d := range filepath.SplitList(path) {
					out = append(out, filepath.Join(d, name))
				}
			}
		}
	}
	for i, path := range out {
		if !filepath.IsAbs(path) {
			out[i] = filepath.Join(dir, path)
		}
	}
	return out
}

// lineage is the same for each restart of one run, whatever it is changed to.
func (m *memory) lineage() string {
	return m.Host + "\x00" + m.Launch.Dir + "\x00" + strings.Join(m.Launch.Args, "\x00")
}

func (e *Effects) logs() string { return filepath.Join(e.Dir, "logs") }

// logOf is the file that a run that is started again writes to; "" is a new one
// of this machine. On a host it has a name that is known before.
func (e *Effects) logOf(ctx context.Context, at place, m *memory) (string, error) {
	h, ok := at.(*far.Host)
	if !ok || m.Launch.Output != "" {
		return m.Launch.Output, nil
	}
	home, err := h.Home(ctx)
	return fmt.Sprintf("%s/.local/state/trainmedic/logs/%s-%d.log", strings.TrimSuffix(home, "/"), filepath.Base(m.Launch.Args[0]), m.PID), err
}

// restart starts the command of the permit; the run outlives this process.
func (e *Effects) restart(ctx context.Context, p gate.Permit) (gate.Outcome, error) {
	m, err := e.recall(p.Proposal())
	if err != nil {
		return gate.Outcome{}, err
	}
	t := p.Target()
	env := slices.Clone(m.Launch.Env)
	for _, k := range slices.Sorted(maps.Keys(t.Env)) {
		env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, k+"=") })
		env = append(env, k+"="+t.Env[k])
	}
	l := source.Launch{Args: t.Command, Path: t.Path, Dir: t.Dir, Env: env, LogDir: e.logs()}
	if t.Host != "" {
		l.Log = t.Log
		return e.restartFar(ctx, m, l)
	}
	if st, err := os.Lstat(t.Log); err == nil && st.Mode().IsRegular() {
		l.Log = t.Log
	}
	run, err := e.Start(ctx, l, source.Options{Watch: true})
	if err != nil {
		return gate.Outcome{}, err
	}
	said := e.adopt(ctx, here{}, m, run, l)
	return gate.Outcome{Text: fmt.Sprintf("started as process %d; its output goes to %s%s", run.PID(), run.Log(), said), Run: run, Watch: m.Run}, nil
}

// adopt remembers a run that was started here under the name of the one before
// it. What is known of it is exact, however soon it ends. It says what could not
// be kept.
func (e *Effects) adopt(ctx context.Context, at place, was *memory, run source.Started, l source.Launch) string {
	_, log := source.Split(run.Log())
	m := &memory{
		Run: was.Run, Host: was.Host, PID: run.PID(), Seen: time.Now().UTC(),
		Launch: far.Launch{Args: l.Args, Env: l.Env, Program: l.Path, Dir: l.Dir, Output: log},
	}
	if who, err := at.Process(ctx, m.PID); err == nil {
		m.Start = who.Start
	}
	_, real, err := at.First(ctx, []string{l.Path})
	if err == nil {
		m.Prints, err = at.Prints(ctx, named(real, l.Dir, l.Args))
	}
	if err == nil {
		err = e.keep(m)
	}
	if err != nil {
		return fmt.Sprintf(" (for a restart of it nothing was kept: %v)", err)
	}
	return ""
}

func digest(values []string) string {
	sum := sha256.Sum256([]byte(strings.Join(values, "\x00")))
	return hex.EncodeToString(sum[:16])
}
