package shell

import (
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
)

// Talking is a program that is talked to while it runs.
type Talking struct {
	In       io.WriteCloser
	Out, Err io.Reader
	End      func() // ends the program; may be called again
}

// Talk starts a program of this machine; the caller MUST End it and reads until
// both streams end.
func Talk(argv ...string) (*Talking, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("shell: %s: %w", argv[0], err)
	}
	out, inner := io.Pipe()
	complaints, innerErr := io.Pipe()
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = inner, innerErr, grace
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("shell: %s: %w", argv[0], err)
	}
	go func() {
		err := cmd.Wait()
		if err == nil {
			err = io.EOF
		}
		inner.CloseWithError(err)
		innerErr.CloseWithError(err)
	}()
	var once sync.Once
	return &Talking{in, out, complaints, func() {
		once.Do(func() {
			in.Close()
			out.Close()
			complaints.Close()
			_ = cmd.Process.Kill() // it may have ended
		})
	}}, nil
}

// Quote writes a word so that a POSIX shell takes it as it is, whatever is in it.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
