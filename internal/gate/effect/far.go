package effect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect/far"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/process"
)

// becomes is how long a command may take to be seen as itself: until then it is
// the shell that starts it.
const becomes = 5 * time.Second

// restartFar starts a command on the host of a run.
func (e *Effects) restartFar(ctx context.Context, m *memory, l source.Launch) (gate.Outcome, error) {
	h, err := far.On(&e.hosts, m.Host)
	if err != nil {
		return gate.Outcome{}, err
	}
	defer h.Close()
	pid, err := h.Start(ctx, l)
	if errors.Is(err, gate.ErrUnknown) {
		return gate.Outcome{}, fmt.Errorf("%w%s", err, e.startedAfterAll(ctx, h, l))
	}
	if err != nil {
		return gate.Outcome{}, err
	}
	said := ""
	if !became(ctx, h, pid, l.Args) {
		said = "; it is not there as that command (any more): its log says why"
	}
	run, err := e.follow(ctx, m.Host, pid, l.Log)
	if err != nil {
		return gate.Outcome{Text: fmt.Sprintf("started as process %d on %s; it cannot be watched: %v", pid, m.Host, err)}, nil
	}
	said += e.adopt(ctx, h, m, run, l)
	return gate.Outcome{Text: fmt.Sprintf("started as process %d on %s; its output goes to %s%s", pid, m.Host, l.Log, said), Run: run, Watch: m.Run}, nil
}

// startedAfterAll looks whether a command runs whose start was not answered.
func (e *Effects) startedAfterAll(ctx context.Context, h *far.Host, l source.Launch) string {
	pid, err := h.Running(ctx, l.Args, l.Dir)
	switch {
	case err != nil:
		return "; " + h.Name() + " cannot be asked: look there before anything else"
	case pid == 0:
		return "; no such command runs there now"
	}
	return fmt.Sprintf("; such a command runs there now as process %d", pid)
}

// became waits until a process has the command line that was asked for.
func became(ctx context.Context, h *far.Host, pid int, args []string) bool {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for late := time.After(becomes); ; {
		got, err := h.Args(ctx, pid)
		if err != nil || slices.Equal(got, args) {
			return err == nil
		}
		select {
		case <-t.C:
		case <-late:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

// farRun is a run that was started on a host; nobody here waits for its end.
type farRun struct {
	source.Source
	pid  int
	log  string
	done chan struct{}
	once sync.Once
}

// PID implements source.Started.
func (r *farRun) PID() int { return r.pid }

// Log implements source.Started.
func (r *farRun) Log() string { return r.log }

// Done implements source.Started; it is closed with the source.
func (r *farRun) Done() <-chan struct{} { return r.done }

// Close implements source.Source.
func (r *farRun) Close() error {
	r.once.Do(func() { close(r.done) })
	return r.Source.Close()
}

// follow opens what a watch looks at of a run on a host: the process while it is
// there, else what its log says.
func (e *Effects) follow(ctx context.Context, host string, pid int, log string) (source.Started, error) {
	r := &farRun{pid: pid, log: host + ":" + log, done: make(chan struct{})}
	var err error
	if r.Source, err = e.open(ctx, fmt.Sprintf("pid:%s:%d", host, pid)); err == nil {
		if _, err = r.Observe(ctx, nil); err == nil {
			return r, nil
		}
		r.Source.Close()
	}
	r.Source, err = e.open(ctx, "ssh:"+r.log)
	return r, err
}

func (e *Effects) open(ctx context.Context, target string) (source.Source, error) {
	kind, ref, err := e.Sources.Resolve(target)
	if err != nil {
		return nil, err
	}
	return kind.Open(ctx, ref, source.Options{Watch: true})
}

// resolveTerminateFar is resolveTerminate for a process of a host.
func (e *Effects) resolveTerminateFar(ctx context.Context, name string, pid int, start string) (gate.Resolved, error) {
	h, err := far.On(&e.hosts, name)
	if err != nil {
		return gate.Resolved{}, err
	}
	defer h.Close()
	id, err := h.Identity(ctx)
	if err != nil {
		return gate.Resolved{}, err
	}
	who, err := h.Process(ctx, pid)
	if gone(err) || err == nil && start != "" && who.Start != start {
		return gate.Resolved{}, cannot("gone", "there is no process %d on %s (any more)", pid, name)
	}
	if err != nil {
		return gate.Resolved{}, err
	}
	above, err := h.Above(ctx)
	if err != nil {
		return gate.Resolved{}, err
	}
	if pid <= 1 || above[pid] {
		return gate.Resolved{}, cannot("own_process", "process %d of %s has started the shell that the gate asks there", pid, name)
	}
	launch, err := h.Launch(ctx, pid)
	if err != nil {
		return gate.Resolved{}, err
	}
	if len(launch.Args) == 0 {
		return gate.Resolved{}, cannot("bad_target", "process %d of %s has no command line: it is the kernel's", pid, name)
	}
	group, reach := who.Group, fmt.Sprintf("all of its process group %d", who.Group)
	if group != pid {
		group, reach = 0, "those below it (its process group has others, too)"
	}
	all, err := h.Family(ctx, who, group)
	if err != nil {
		return gate.Resolved{}, err
	}
	return gate.Resolved{
		Target: gate.Target{Host: name, PID: pid, Start: who.Start, Group: group, Command: launch.Args, Dir: launch.Dir, Prints: id, Lineage: fmt.Sprint(name, " ", pid, " ", who.Start)},
		Does: []string{
			fmt.Sprintf("end process %d on %s with %s, now %d more:", pid, name, reach, max(0, len(all)-1)),
			"  " + process.Quote(launch.Args),
			fmt.Sprintf("SIGTERM first; SIGKILL after %.0f s to those that are still there", e.grace().Seconds()),
		},
	}, nil
}

// terminateFar is terminate for a process of a host.
func (e *Effects) terminateFar(ctx context.Context, t gate.Target) (gate.Outcome, error) {
	h, err := far.On(&e.hosts, t.Host)
	if err != nil {
		return gate.Outcome{}, err
	}
	defer h.Close()
	all, err := h.Family(ctx, far.Process{PID: t.PID, Start: t.Start}, t.Group)
	if err != nil {
		return gate.Outcome{}, err
	}
	if len(all) == 0 {
		return gate.Outcome{}, fmt.Errorf("process %d on %s ended by itself; nothing was done", t.PID, t.Host)
	}
	if _, err := h.Signal(ctx, all, t.Group, "TERM"); err != nil {
		return gate.Outcome{}, e.stands(ctx, h, t, err)
	}
	left, err := h.Gone(ctx, all, e.grace())
	if err != nil {
		return gate.Outcome{}, fmt.Errorf("%w: SIGTERM was sent to process %d; whether it ended cannot be seen, and SIGKILL was not sent: %w", gate.ErrUnknown, t.PID, err)
	}
	if len(left) == 0 {
		return gate.Outcome{Text: fmt.Sprintf("process %d on %s and %d below it ended after SIGTERM", t.PID, t.Host, len(all)-1)}, nil
	}
	if _, err := h.Signal(ctx, left, t.Group, "KILL"); err != nil {
		return gate.Outcome{}, e.stands(ctx, h, t, err)
	}
	still, err := h.Gone(ctx, left, killWait)
	if err != nil || len(still) > 0 {
		return gate.Outcome{}, e.stands(ctx, h, t, fmt.Errorf("SIGKILL was sent; %d of %d are not seen to have ended: %w", len(still), len(all), cmpErr(err)))
	}
	return gate.Outcome{Text: fmt.Sprintf("process %d on %s did not end within %.0f s of SIGTERM; %d were ended with SIGKILL", t.PID, t.Host, e.grace().Seconds(), len(left))}, nil
}

// errHangs says why a process outlives SIGKILL.
var errHangs = errors.New("they wait in the kernel, as for a disk or a GPU that does not answer")

func cmpErr(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", gate.ErrUnknown, err)
	}
	return errHangs
}

// stands adds to an error how the process stands now, where that can be seen.
func (e *Effects) stands(ctx context.Context, h *far.Host, t gate.Target, err error) error {
	there, seen := lives(ctx, h, t.PID, t.Start)
	switch {
	case seen != nil:
		return fmt.Errorf("%w; %s cannot be asked", err, t.Host)
	case there:
		return fmt.Errorf("%w; process %d is still there", err, t.PID)
	}
	return fmt.Errorf("%w; process %d is not there any more", err, t.PID)
}
