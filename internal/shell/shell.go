// Package shell asks the programs of a machine what they see: nvidia-smi, sacct,
// dmesg. They only look; what changes the world is the gate's alone.
package shell

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// MaxOutput is how many bytes of a program's output are kept; the rest is
// read and dropped.
const MaxOutput = 16 << 20

// maxErrors bounds what is kept of its complaints.
const maxErrors = 4 << 10

// grace is how long a program that was told to end may still hold its output.
const grace = time.Second

// ErrNoProgram says that the machine has no such program.
var ErrNoProgram = errors.New("no such program")

// Shell runs programs where a run lives.
type Shell interface {
	// Run runs a program to its end and gives its standard output. The arguments
	// reach it as they are: no shell splits or expands them. The error is
	// ErrNoProgram, a *Failed with what it said, or the context's.
	Run(ctx context.Context, argv ...string) ([]byte, error)

	// Host names the machine as its user does, "user@host"; "" is this one.
	Host() string
}

// Failed is a program that ended with another status than 0.
type Failed struct {
	Program string
	Status  int    // 128 + the signal's number if a signal ended it
	Stderr  string // its first 4 KB
}

// Error implements error.
func (f *Failed) Error() string {
	return fmt.Sprintf("%s: exit status %d: %s", f.Program, f.Status, f.Stderr)
}

// Local is this machine.
var Local Shell = local{}

type local struct{}

func (local) Host() string { return "" }

func (local) Run(ctx context.Context, argv ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var out, complaints head
	out.room, complaints.room = MaxOutput, maxErrors
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &complaints, grace
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return out.kept.Bytes(), fmt.Errorf("shell: %s: %w", argv[0], ctx.Err())
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("shell: %s: %w", argv[0], ErrNoProgram)
	case errors.As(err, &exit):
		return out.kept.Bytes(), &Failed{argv[0], status(exit), complaints.kept.String()}
	case err != nil:
		return out.kept.Bytes(), fmt.Errorf("shell: %w", err)
	}
	return out.kept.Bytes(), nil
}

// head keeps the first bytes that are written to it.
type head struct {
	kept bytes.Buffer
	room int
}

func (h *head) Write(p []byte) (int, error) {
	n := min(len(p), h.room)
	h.room -= n
	h.kept.Write(p[:n])
	return len(p), nil
}
