//go:build unix

package monitor

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lockDir makes this process the owner of a watch; errOwned when another one is.
// The lock goes with the process, however that ends.
func lockDir(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errOwned
		}
		return nil, err
	}
	return f, nil
}
