package source

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/shell"
)

// Remote reaches other machines for the kinds that can look at them: programs by
// Dial, logs by a kind whose ref is HOST:PATH. The zero value reaches none.
type Remote struct {
	Dial func(ctx context.Context, host string) (shell.Shell, error)
	Logs *Kind
}

var elsewhere = regexp.MustCompile(`^((?:[\w.+-]+@)?[A-Za-z0-9][\w.-]*|[\w.+-]+@\[[0-9A-Fa-f:.]+\]):(.+)$`)

// Split takes user@host:REF apart; host is "" where ref is of this machine.
func Split(ref string) (host, rest string) {
	if m := elsewhere.FindStringSubmatch(ref); m != nil {
		return m[1], m[2]
	}
	return "", ref
}

// Shell is where a ref's programs run: this machine, or the host that it names.
func (r Remote) Shell(ctx context.Context, host string) (shell.Shell, error) {
	if host == "" {
		return shell.Local, nil
	}
	if r.Dial == nil {
		return nil, fmt.Errorf("source: %s: this version looks at other machines only for a log (user@host:/path): %w", host, ErrBadTarget)
	}
	return r.Dial(ctx, host)
}

// Unanswered is the error of a program that the machine does not have or that
// could not be asked; ask says what else to try.
func Unanswered(kind string, sh shell.Shell, err error, ask string) error {
	where := sh.Host()
	if where == "" {
		where = "this machine"
	}
	var failed *shell.Failed
	switch {
	case errors.Is(err, shell.ErrNoProgram):
		return fmt.Errorf("%s: %s has no such program; %s: %w", kind, where, ask, ErrUnreachable)
	case errors.As(err, &failed):
		return fmt.Errorf("%s: %s: %s; %s: %w", kind, where, strings.Join(strings.Fields(failed.Stderr), " "), ask, ErrUnreachable)
	}
	return fmt.Errorf("%s: %s: %w; %s: %w", kind, where, err, ask, ErrUnreachable)
}
