// Package far is a machine over SSH as the gate acts on it: how a process there
// was started, what has to stay as it was, and the few scripts that change
// something. It runs nothing but scripts of its own, in which every word from
// outside is quoted. What changes something is sent once: when the connection is
// cut under it, the error wraps gate.ErrUnknown.
package far

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Host is one account on one machine. The caller closes it.
type Host struct {
	name string
	host *remote.Host
}

// On gives a host that is named as in a target, user@host; its key has to be
// known. Nothing is dialled before it is asked something.
func On(pool *remote.Pool, name string) (*Host, error) {
	a, err := remote.ParseAddress(name)
	if err != nil {
		return nil, fmt.Errorf("far: %w: %w", err, source.ErrBadTarget)
	}
	return &Host{name: name, host: pool.Host(a, false)}, nil
}

// Close lets go of the connection.
func (h *Host) Close() { h.host.Close() }

// Name is how the host was named.
func (h *Host) Name() string { return h.name }

// look asks something that changes nothing; it may be asked twice.
func (h *Host) look(ctx context.Context, script string) (remote.Answer, error) {
	return h.host.Ask(ctx, remote.Script{Text: script})
}

// act does something, at most once. patience is how long it may say nothing.
func (h *Host) act(ctx context.Context, script string, patience time.Duration) (remote.Answer, error) {
	a, err := h.host.Ask(ctx, remote.Script{Text: script, Once: true, Patience: patience})
	if errors.Is(err, remote.ErrUnknown) {
		return a, fmt.Errorf("%w: %w", gate.ErrUnknown, err)
	}
	return a, err
}

// parts asks scripts whose answers may hold anything, and tells them apart. A
// part whose script ends with an error is nil.
func (h *Host) parts(ctx context.Context, scripts ...string) ([][]byte, error) {
	mark := rand.Text()
	var b strings.Builder
	for _, s := range scripts {
		fmt.Fprintf(&b, "(%s) 2>/dev/null && printf '\\n%[2]s+\\n' || printf '\\n%[2]s-\\n'\n", s, mark)
	}
	a, err := h.look(ctx, b.String())
	if err != nil {
		return nil, err
	}
	out := make([][]byte, 0, len(scripts))
	rest := a.Out
	for range scripts {
		i := bytes.Index(rest, []byte("\n"+mark))
		if i < 0 || len(rest) < i+len(mark)+3 {
			return nil, fmt.Errorf("far: %s breaks off: %w", h.name, source.ErrUnreachable)
		}
		part := rest[:i:i]
		if rest[i+1+len(mark)] == '-' {
			part = nil
		}
		out, rest = append(out, part), rest[i+len(mark)+3:]
	}
	return out, nil
}

// Identity is what has to be the same for the host to be the same machine, and
// not started anew: its key, the name that its system has, and its boot.
func (h *Host) Identity(ctx context.Context) ([]string, error) {
	got, err := h.parts(ctx, "cat /etc/machine-id", "cat /proc/sys/kernel/random/boot_id", "id -u", "command -v setsid", "echo x | sha256sum")
	if err != nil {
		return nil, err
	}
	if got[1] == nil || got[3] == nil || got[4] == nil {
		return nil, gate.Refusal{Kind: "not_supported", Why: h.name + " has no /proc, setsid or sha256sum: what runs there cannot be told apart safely; a person can act by hand"}
	}
	return []string{
		"host " + h.name, "key " + h.host.Key(), "machine " + string(bytes.TrimSpace(got[0])),
		"boot " + string(bytes.TrimSpace(got[1])), "user " + string(bytes.TrimSpace(got[2])),
	}, nil
}

// Run runs a program that changes something, once.
func (h *Host) Run(ctx context.Context, argv ...string) ([]byte, error) {
	patience := time.Minute
	if d, ok := ctx.Deadline(); ok {
		patience = max(time.Second, time.Until(d))
	}
	a, err := h.act(ctx, "exec "+words(argv), patience)
	if err == nil && a.Status != 0 {
		return a.Out, &shell.Failed{Program: argv[0], Status: a.Status, Stderr: a.Said}
	}
	return a.Out, err
}

// Ask runs a program that only looks.
func (h *Host) Ask(ctx context.Context, argv ...string) ([]byte, error) {
	return h.host.Run(ctx, argv...)
}

// words writes a command line for the shell.
func words(argv []string) string {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		quoted[i] = shell.Quote(a)
	}
	return strings.Join(quoted, " ")
}
