package person

import (
	"errors"
	"net"
	"syscall"
)

// peerOf asks the kernel who connected.
func peerOf(c net.Conn) (Peer, error) {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return Peer{}, errors.New("person: no unix socket")
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return Peer{}, err
	}
	var cred *syscall.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		cred, failed = syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	}); err != nil || failed != nil {
		return Peer{}, errors.Join(err, failed)
	}
	return Peer{UID: int(cred.Uid), PID: int(cred.Pid)}, nil
}
