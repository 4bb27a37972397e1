//go:build !unix

package process

import (
	"os"
	"syscall"
)

// ownGroup has no groups to make here.
func ownGroup() *syscall.SysProcAttr { return nil }

// signalGroup ends a process; others of the run are not reached.
func signalGroup(pid int, _ syscall.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it ended by itself
	}
}

// waitStatus is an exit code; there is no more to tell.
func waitStatus(n int) syscall.WaitStatus { return syscall.WaitStatus{ExitCode: uint32(n)} }

// noFollow has no meaning here.
const noFollow = 0
