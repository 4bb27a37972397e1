// Package effect is how something is done to the world outside, for the few
// places that may: only the composition root hands it out.
package effect

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"time"

	"github.com/trainmedic/trainmedic/internal/report"
)

// notifyDeadline bounds a command of the user's, so that it cannot hold up a watch.
const notifyDeadline = 30 * time.Second

// Notify runs a command that the user gave, in a shell, with a value as JSON on
// its standard input. It goes on when ctx ends: the last news of a watch that is
// interrupted is told too. The text of a log reaches the command on its standard
// input only, never its command line.
func Notify(ctx context.Context, command string, v any) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyDeadline)
	defer cancel()
	b, err := report.Compact(v)
	if err != nil {
		return fmt.Errorf("notify: %w", err)
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Stdin = bytes.NewReader(append(b, '\n'))
	cmd.WaitDelay = time.Second
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("notify: %s: %w: %.200s", command, err, bytes.TrimSpace(out))
	}
	return nil
}
