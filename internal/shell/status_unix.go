//go:build unix

package shell

import (
	"os/exec"
	"syscall"
)

func status(e *exec.ExitError) int {
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return e.ExitCode()
}
