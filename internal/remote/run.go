package remote

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Dial gives a shell on a host that is named as a person names it, user@host. It
// connects when it is asked something, and need not be closed.
func (p *Pool) Dial(_ context.Context, host string) (shell.Shell, error) {
	a, err := ParseAddress(host)
	if err != nil {
		return nil, fmt.Errorf("ssh: %w: %w", err, source.ErrBadTarget)
	}
	return dialled{p, a}, nil
}

// dialled holds a host only while it is asked.
type dialled struct {
	pool    *Pool
	address Address
}

// Host implements shell.Shell.
func (d dialled) Host() string { return d.address.String() }

// Run implements shell.Shell.
func (d dialled) Run(ctx context.Context, argv ...string) ([]byte, error) {
	h := d.pool.Host(d.address, false)
	defer h.Close() // it only lets go
	return h.Run(ctx, argv...)
}

// Run implements shell.Shell. Where the host has timeout(1), the program ends
// with the context's deadline there too.
func (h *Host) Run(ctx context.Context, argv ...string) ([]byte, error) {
	limit := usualPatience
	if d, ok := ctx.Deadline(); ok {
		limit = max(time.Second, time.Until(d))
	}
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = shell.Quote(a)
	}
	text := fmt.Sprintf("command -v %s >/dev/null 2>&1 || exit 127\ncommand -v timeout >/dev/null && exec timeout %d %s\nexec %[3]s",
		words[0], int(limit.Seconds())+1, strings.Join(words, " "))
	a, err := h.Ask(ctx, Script{Text: text, Patience: limit + graceOfRun, Most: shell.MaxOutput, Long: true})
	switch {
	case err != nil && len(a.Out) < shell.MaxOutput: // more than that is dropped
		return nil, err
	case a.Status == 127:
		return nil, fmt.Errorf("ssh: %s: %s: %w", h.address, argv[0], shell.ErrNoProgram)
	case a.Status == 124 && a.Said == "":
		return a.Out, fmt.Errorf("ssh: %s: %s: %w", h.address, argv[0], context.DeadlineExceeded)
	case a.Status != 0:
		return a.Out, &shell.Failed{Program: argv[0], Status: a.Status, Stderr: a.Said}
	}
	return a.Out, nil
}

// graceOfRun is what a program that was told to end may still take.
const graceOfRun = 5 * time.Second
