//go:build !unix

package monitor

import (
	"os"
	"path/filepath"
)

// lockDir makes this process the owner of a watch. Where there is no flock two
// servers of one user may watch the same run; each tells the same.
func lockDir(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
}
