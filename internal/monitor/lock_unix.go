//go:build unix

package monitor

import (
	"os"
	"path/filepath"
	"syscall"
)

// lockDir makes this process the owner of a watch; false when another one is.
// The lock goes with the process, however that ends.
func lockDir(dir string) (*os.File, bool) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, false
	}
	return f, true
}
