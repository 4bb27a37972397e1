package effect

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/source/process"
)

const (
	usualGrace = 30 * time.Second
	lookEvery  = 100 * time.Millisecond
	killWait   = 5 * time.Second
)

func (e *Effects) resolveTerminate(ctx context.Context, p gate.Proposal) (gate.Resolved, error) {
	host, pid, ok := processOf(p.Target)
	start := ""
	if m, err := e.recall(p); err == nil && (p.Run != "" || !ok) {
		host, pid, start, ok = m.Host, m.PID, m.Start, true
	}
	if !ok {
		return gate.Resolved{}, cannot("bad_target", "which process this run is is not known; name it as pid:N")
	}
	if host != "" {
		return e.resolveTerminateFar(ctx, host, pid, start)
	}
	who, err := process.Know(pid)
	if err != nil || !who.Lives() || start != "" && who.Start != start {
		return gate.Resolved{}, cannot("gone", "there is no process %d (any more)", pid)
	}
	if who.PID <= 1 || process.Above(os.Getpid())[who.PID] {
		return gate.Resolved{}, cannot("own_process", "process %d is this server, or started it", who.PID)
	}
	args := process.Args(who.PID)
	if len(args) == 0 {
		return gate.Resolved{}, cannot("bad_target", "process %d has no command line: it is the kernel's, or another user's", who.PID)
	}
	group, err := groupOf(who.PID)
	if err != nil {
		return gate.Resolved{}, fmt.Errorf("effect: process %d: %w", who.PID, err)
	}
	reach := fmt.Sprintf("all of its process group %d", group)
	if mine, err := groupOf(os.Getpid()); err != nil || group != who.PID || mine == group {
		group, reach = 0, "those below it (its process group has others, too)"
	}
	return gate.Resolved{
		Target: gate.Target{PID: who.PID, Start: who.Start, Group: group, Command: args, Dir: process.Cwd(who.PID), Lineage: fmt.Sprint(who.PID, " ", who.Start)},
		Does: []string{
			fmt.Sprintf("end process %d with %s, now %d more:", who.PID, reach, len(members(who, group))-1),
			"  " + process.Quote(args),
			fmt.Sprintf("SIGTERM first; SIGKILL after %.0f s to those that are still there", e.grace().Seconds()),
		},
	}, nil
}

func (e *Effects) grace() time.Duration { return cmp.Or(e.Grace, usualGrace) }

// terminate asks the processes of the permit to end, and ends those that do not.
func (e *Effects) terminate(ctx context.Context, p gate.Permit) (gate.Outcome, error) {
	t := p.Target()
	if t.Host != "" {
		return e.terminateFar(ctx, t)
	}
	who := process.Known{PID: t.PID, Start: t.Start}
	family := members(who, t.Group)
	if !who.Lives() {
		return gate.Outcome{}, fmt.Errorf("process %d ended by itself; nothing was done", t.PID)
	}
	if err := signal(family, t.Group, syscall.SIGTERM); err != nil {
		return gate.Outcome{}, fmt.Errorf("process %d: %w", t.PID, err)
	}
	if ended(ctx, family, e.grace()) {
		return gate.Outcome{Text: fmt.Sprintf("process %d and %d below it ended after SIGTERM", t.PID, len(family)-1)}, nil
	}
	left := slices.DeleteFunc(family, func(k process.Known) bool { return !k.Lives() })
	if err := signal(left, t.Group, syscall.SIGKILL); err != nil {
		return gate.Outcome{}, fmt.Errorf("process %d: %w", t.PID, err)
	}
	if !ended(ctx, left, killWait) {
		return gate.Outcome{}, fmt.Errorf("process %d is still there after SIGKILL: it waits in the kernel, as for a disk or a GPU that does not answer", t.PID)
	}
	return gate.Outcome{Text: fmt.Sprintf("process %d did not end within %.0f s of SIGTERM; %d were ended with SIGKILL", t.PID, e.grace().Seconds(), len(left))}, nil
}

// members are the process, all below it, and the others of its group.
func members(who process.Known, group int) []process.Known {
	out := append([]process.Known{who}, who.Below()...)
	if group == 0 {
		return out
	}
	for _, pid := range process.All() {
		if g, err := groupOf(pid); err != nil || g != group || slices.ContainsFunc(out, func(k process.Known) bool { return k.PID == pid }) {
			continue
		}
		if k, err := process.Know(pid); err == nil {
			out = append(out, k)
		}
	}
	return out
}

// signal reaches the group as one, and each of the processes that is in another
// one. Each is looked at right before, so that none that took its PID is hit.
func signal(family []process.Known, group int, sig syscall.Signal) error {
	var first error
	in := func(k process.Known) bool {
		g, err := groupOf(k.PID)
		return err == nil && group > 0 && g == group && k.Lives()
	}
	if slices.ContainsFunc(family, in) {
		first = signalGroup(group, sig)
	}
	for _, k := range family {
		if !in(k) && k.Lives() {
			p, err := os.FindProcess(k.PID) // holds on to the process itself where the system can
			if err == nil && k.Lives() {
				err = p.Signal(sig)
			}
			if err != nil && k.Lives() && first == nil {
				first = err
			}
		}
	}
	return first
}

// ended waits until none lives any more.
func ended(ctx context.Context, family []process.Known, atMost time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for {
		if !slices.ContainsFunc(family, process.Known.Lives) {
			return true
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return false
		}
	}
}
