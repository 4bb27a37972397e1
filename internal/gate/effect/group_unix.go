//go:build unix

package effect

import "syscall"

func groupOf(pid int) (int, error) { return syscall.Getpgid(pid) }

func signalGroup(group int, sig syscall.Signal) error { return syscall.Kill(-group, sig) }
