//go:build unix

package process

import "syscall"

// waitStatus is a wait status that the kernel told as a number.
func waitStatus(n int) syscall.WaitStatus { return syscall.WaitStatus(n) }
