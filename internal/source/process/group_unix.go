//go:build unix

package process

import "syscall"

// ownGroup makes a process the leader of a group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// signalGroup sends a signal to a process and all of its group.
func signalGroup(pid int, sig syscall.Signal) {
	_ = syscall.Kill(-pid, sig) // it ended by itself
}

// waitStatus is a wait status that the kernel told as a number.
func waitStatus(n int) syscall.WaitStatus { return syscall.WaitStatus(n) }

// noFollow keeps an open from following a link.
const noFollow = syscall.O_NOFOLLOW
