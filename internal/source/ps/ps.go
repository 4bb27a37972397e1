// Package ps is the source of runs that are processes of another machine: what
// its ps shows of them and of all below them, the log that they write, and their
// machine, by a shell that reaches it. It also holds what this and the source of
// this machine's processes have in common: how a name is matched, and which rank
// was lost.
package ps

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/host"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
)

// ByPID opens the process of another machine that has a PID.
func ByPID(ctx context.Context, remote source.Remote, at string, pid int, opt source.Options) (source.Source, error) {
	return open(ctx, remote, at, opt, func(all []process) (process, error) {
		for _, p := range all {
			if p.pid == pid {
				return p, nil
			}
		}
		return process{}, fmt.Errorf("ps: there is no process %d on %s (any more); for what it left name its log (%s:/path): %w", pid, at, at, source.ErrNotFound)
	})
}

// ByName opens the one run of another machine that a name or a part of a command
// line means.
func ByName(ctx context.Context, remote source.Remote, at, name string, opt source.Options) (source.Source, error) {
	return open(ctx, remote, at, opt, func(all []process) (process, error) { return find(all, name, at) })
}

func open(ctx context.Context, remote source.Remote, at string, opt source.Options, who func([]process) (process, error)) (source.Source, error) {
	sh, err := remote.Shell(ctx, at)
	if err != nil {
		return nil, err
	}
	opt.Artifacts = "" // it is opened beside
	return &watched{at: at, shell: sh, who: who, opt: opt, open: remote.Logs.Open, machine: host.On(sh), logs: map[string]source.Source{}}, nil
}

type watched struct {
	at      string
	shell   shell.Shell
	who     func([]process) (process, error)
	opt     source.Options
	open    func(ctx context.Context, ref string, opt source.Options) (source.Source, error)
	machine *host.Machine
	logs    map[string]source.Source // by path
}

// Keys of the cursor; the log's own is under "log ".
const (
	keyWho    = "process" // PID and start
	keyBegan  = "began"
	keyLog    = "path" // of the log
	keyRanks  = "ranks"
	keyEvents = "events" // bytes and lines of what was noticed
)

// Observe implements source.Source.
func (w *watched) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	l := &look{watched: w, since: since, obs: run.Observation{At: time.Now(), Next: run.Cursor{}}}
	if err := ctx.Err(); err != nil {
		return l.obs, err
	}
	all, err := list(ctx, w.shell)
	if err != nil {
		if ctx.Err() != nil {
			return l.obs, ctx.Err()
		}
		return l.obs, source.Unanswered("ps", w.shell, err, "name the log of the run ("+w.at+":/path)")
	}
	if err := l.identify(ctx, all); err != nil {
		return l.obs, err
	}
	if len(l.family) > 0 {
		l.live(ctx)
	} else {
		l.gone()
	}
	if err := l.log(ctx); err != nil {
		return l.obs, err
	}
	l.around(ctx)
	l.tell()
	source.Once(&l.obs, since)
	return l.obs, nil
}

// Close implements source.Source.
func (w *watched) Close() error {
	var errs []error
	for _, s := range w.logs {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

// identify finds the run at the first look, and afterwards whether it is there: a
// PID that was used again is another process.
func (l *look) identify(ctx context.Context, all []process) error {
	who, known := l.since[keyWho]
	if !known {
		p, err := l.who(all)
		if err != nil {
			return err
		}
		l.obs.Next[keyWho] = strconv.Itoa(p.pid) + " " + l.start(ctx, p.pid)
		l.obs.Next[keyBegan] = l.obs.At.Add(-p.age).UTC().Format(time.RFC3339)
		l.family = below(all, p.pid)
		return nil
	}
	l.obs.Next[keyWho], l.obs.Next[keyBegan] = who, l.since[keyBegan]
	text, start, _ := strings.Cut(who, " ")
	pid, err := strconv.Atoi(text)
	if err != nil {
		return fmt.Errorf("ps: the cursor names %q: %w", who, source.ErrBadTarget)
	}
	if l.family = below(all, pid); len(l.family) > 0 && l.start(ctx, pid) != start {
		l.family = nil
	}
	return nil
}

// start is when a process began, as its kernel counts it; "" where there is no
// /proc.
func (l *look) start(ctx context.Context, pid int) string {
	out, err := l.shell.Run(ctx, "cat", fmt.Sprintf("/proc/%d/stat", pid))
	text := string(out)
	f := strings.Fields(text[strings.LastIndexByte(text, ')')+1:])
	if err != nil || len(f) < 20 {
		return ""
	}
	return f[22-3]
}

// log looks at the log, found through the process's own standard output while it
// lives.
func (l *look) log(ctx context.Context) error {
	path := l.since[keyLog]
	if path == "" && len(l.family) > 0 {
		path = l.output(ctx)
	}
	if path == "" {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.gap("the log of the run", "the process's output goes to no file that this user may see", "its log: name it ("+l.at+":/path) if there is one")
		return nil
	}
	l.obs.Next[keyLog] = path
	part := run.Cursor{}
	for k, v := range l.since {
		if name, ok := strings.CutPrefix(k, "log "); ok {
			part[name] = v
		}
	}
	if len(part) == 0 {
		part = nil
	}
	obs, err := l.follow(ctx, path, part)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		obs.Next = part
		l.gap("the log "+path, err.Error(), "a readable copy of it")
	}
	for k, v := range obs.Next {
		l.obs.Next["log "+k] = v
	}
	for i := range obs.Streams {
		obs.Streams[i].Live = len(l.family) > 0
	}
	l.obs.Streams = append(l.obs.Streams, obs.Streams...)
	l.obs.Facts = append(l.obs.Facts, obs.Facts...)
	l.obs.Samples = append(l.obs.Samples, obs.Samples...)
	l.obs.Checkpoints = append(l.obs.Checkpoints, obs.Checkpoints...)
	l.obs.Gaps = append(l.obs.Gaps, obs.Gaps...)
	l.obs.More = obs.More
	return nil
}

func (l *look) follow(ctx context.Context, path string, since run.Cursor) (run.Observation, error) {
	src := l.logs[path]
	if src == nil {
		var err error
		if src, err = l.open(ctx, l.at+":"+path, l.opt); err != nil {
			return run.Observation{}, err
		}
		l.logs[path] = src
	}
	return src.Observe(ctx, since)
}

// output is the file that standard output or error of the run's processes goes
// to.
func (l *look) output(ctx context.Context) string {
	for _, p := range l.family[:min(len(l.family), 16)] {
		for _, fd := range []string{"1", "2"} {
			out, err := l.shell.Run(ctx, "readlink", fmt.Sprintf("/proc/%d/fd/%s", p.pid, fd))
			path := strings.TrimSpace(string(out))
			if err == nil && strings.HasPrefix(path, "/") && !strings.HasPrefix(path, "/dev/") && !strings.HasSuffix(path, " (deleted)") && !strings.Contains(path, "\n") {
				return path
			}
		}
	}
	return ""
}

// around looks at the machine and at what is left where the log is.
func (l *look) around(ctx context.Context) {
	r := host.Run{PIDs: []int{}, Visible: l.visible, Urgent: len(l.family) == 0 || l.events.Len() > 0}
	for _, p := range l.family {
		r.PIDs = append(r.PIDs, p.pid)
	}
	r.Started, _ = time.Parse(time.RFC3339, l.obs.Next[keyBegan]) // the zero time when it is not known
	obs := l.machine.Look(ctx, r, l.since)
	for _, f := range obs.Facts {
		l.reading(f)
	}
	l.obs.Streams = append(l.obs.Streams, obs.Streams...)
	l.obs.Gaps = append(l.obs.Gaps, obs.Gaps...)
	maps.Copy(l.obs.Next, obs.Next)
	if path := l.obs.Next[keyLog]; path != "" && l.opt.Watch {
		l.obs.Facts = append(l.obs.Facts, host.DF(ctx, l.shell, path)...)
	}
}
