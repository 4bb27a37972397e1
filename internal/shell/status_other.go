//go:build !unix

package shell

import "os/exec"

func status(e *exec.ExitError) int { return e.ExitCode() }
