//go:build !unix

package process

import "syscall"

// waitStatus is an exit code; there is no more to tell.
func waitStatus(n int) syscall.WaitStatus { return syscall.WaitStatus{ExitCode: uint32(n)} }
