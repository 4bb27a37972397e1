package shell_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/shell"
)

func TestLocal(t *testing.T) {
	ctx := t.Context()
	if out, err := shell.Local.Run(ctx, "printf", "%s|", "a b", "$(id)", "-n", "\n"); err != nil || string(out) != "a b|$(id)|-n|\n|" {
		t.Errorf("arguments: got %q, %v", out, err)
	}
	if _, err := shell.Local.Run(ctx, "no-such-program-at-all"); !errors.Is(err, shell.ErrNoProgram) {
		t.Errorf("a program that is not there: got %v", err)
	}
	var failed *shell.Failed
	if _, err := shell.Local.Run(ctx, "sh", "-c", "echo no >&2; exit 3"); !errors.As(err, &failed) || failed.Status != 3 || failed.Stderr != "no\n" {
		t.Errorf("exit 3: got %v", err)
	}
	if _, err := shell.Local.Run(ctx, "sh", "-c", "kill -9 $$"); !errors.As(err, &failed) || failed.Status != 137 {
		t.Errorf("killed: got %v", err)
	}
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	if _, err := shell.Local.Run(short, "sleep", "600"); !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > time.Minute {
		t.Errorf("a program that hangs: got %v after %v", err, time.Since(start))
	}
	if out, err := shell.Local.Run(ctx, "head", "-c", "20000000", "/dev/zero"); err != nil || len(out) != shell.MaxOutput {
		t.Errorf("much output: got %d bytes, %v", len(out), err)
	}
}
