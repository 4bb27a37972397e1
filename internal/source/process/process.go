// Package process is the source of runs that are processes of this machine:
// their state and what is below them, the log that they write, found through
// their open files and followed also when it was deleted, and how they end. Start
// starts one; none is ended but one that was started so, when that was asked for.
package process

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/host"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
	"github.com/trainmedic/trainmedic/internal/source/ps"
)

// PID is the source of the process that has a PID, of this machine or of one that
// remote reaches. beside opens the directory that Options.Artifacts names.
func PID(beside *source.Kind, remote source.Remote) *source.Kind {
	return &source.Kind{
		Scheme: "pid", Type: "pid", Flag: "pid", Example: "--pid 12345",
		Doc:    "a process of this machine and the log it writes",
		Doctor: doctor,
		Open: func(ctx context.Context, ref string, opt source.Options) (source.Source, error) {
			at, text := source.Split(ref)
			pid, err := strconv.Atoi(text)
			if err != nil || pid <= 0 {
				return nil, fmt.Errorf("process: %q is no PID: %w", text, source.ErrBadTarget)
			}
			if at != "" {
				src, err := ps.ByPID(ctx, remote, at, pid, opt)
				return withFolder(ctx, src, err, opt, beside)
			}
			return open(ctx, opt, beside, func() (stat, error) { return statOf(pid) })
		},
	}
}

// Name is the source of the one run that a name or a part of a command line
// means.
func Name(beside *source.Kind, remote source.Remote) *source.Kind {
	return &source.Kind{
		Scheme: "proc", Type: "process-name", Flag: "proc", Example: "--proc torchrun",
		Doc: "the process with that name or command line",
		Open: func(ctx context.Context, ref string, opt source.Options) (source.Source, error) {
			if strings.TrimSpace(ref) == "" {
				return nil, fmt.Errorf("process: no name: %w", source.ErrBadTarget)
			}
			if at, name := source.Split(ref); strings.Contains(at, "@") {
				src, err := ps.ByName(ctx, remote, at, name, opt)
				return withFolder(ctx, src, err, opt, beside)
			}
			return open(ctx, opt, beside, func() (stat, error) { return find(ref) })
		},
	}
}

func open(ctx context.Context, opt source.Options, beside *source.Kind, who func() (stat, error)) (source.Source, error) {
	w := &watched{who: who, last: opt.Last, watch: opt.Watch, machine: host.On(shell.Local)}
	return withFolder(ctx, w, nil, opt, beside)
}

// withFolder adds the directory that the user named beside a source.
func withFolder(ctx context.Context, src source.Source, err error, opt source.Options, beside *source.Kind) (source.Source, error) {
	if err != nil || opt.Artifacts == "" || beside == nil {
		return src, err
	}
	dir, err := beside.Open(ctx, opt.Artifacts, opt)
	if err != nil {
		return nil, err
	}
	return file.Beside(src, dir), nil
}

// watched is a run that is a process.
type watched struct {
	who   func() (stat, error) // finds it at the first look
	ended func() []run.Fact    // how it ended, where that is known; waits until it is
	own   map[string]string    // logs that are known from the start: path by name
	last  int
	watch bool

	machine *host.Machine
	envs    map[ps.Member]map[string]string // what processes were told of their ranks
}

// Keys of the cursor; the logs are under "log NAME", what was told under "fact KEY".
const (
	keyWho    = "process" // PID and start
	keyCgroup = "cgroup"
	keyDone   = "done"   // identities of files that are older parts of a log
	keyRanks  = "ranks"  // the process of each rank, and how it ended
	keyEvents = "events" // bytes and lines of what was noticed
)

// Observe implements source.Source.
func (w *watched) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	l := &look{watched: w, since: since, obs: run.Observation{At: time.Now(), Next: run.Cursor{}}}
	if err := ctx.Err(); err != nil {
		return l.obs, err
	}
	s, alive, err := l.identify()
	if err != nil {
		return l.obs, err
	}
	if alive {
		l.live(s)
	} else {
		l.gone()
	}
	if err := l.logs(ctx); err != nil {
		return l.obs, err
	}
	l.surroundings()
	l.around(ctx)
	l.tell()
	source.Once(&l.obs, since)
	return l.obs, nil
}

// Close implements source.Source.
func (w *watched) Close() error { return nil }

// look is one look at a process.
type look struct {
	*watched
	since run.Cursor
	obs   run.Observation
	all   []stat // the process and those below it, while it lives
	cwd   string
	found []openLog
	dirs  []string

	events strings.Builder
}

// identify finds the process that is looked at since the first look; a PID that
// was used again is another process.
func (l *look) identify() (s stat, alive bool, err error) {
	if who, ok := l.since[keyWho]; ok {
		l.obs.Next[keyWho] = who
		text, start, _ := strings.Cut(who, " ")
		pid, err := strconv.Atoi(text)
		if err != nil {
			return s, false, fmt.Errorf("process: the cursor names %q: %w", who, source.ErrBadTarget)
		}
		return still(stat{pid: pid, start: start})
	}
	if s, err = l.who(); err != nil {
		return s, false, err
	}
	l.obs.Next[keyWho] = strconv.Itoa(s.pid) + " " + s.start
	return still(s)
}

// still looks whether a process is there: that PID, and not used again.
func still(was stat) (s stat, alive bool, err error) {
	s, err = statOf(was.pid)
	if errors.Is(err, source.ErrDenied) {
		return s, false, err
	}
	return s, err == nil && s.start == was.start, nil
}
