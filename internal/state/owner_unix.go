//go:build unix

package state

import (
	"io/fs"
	"os"
	"syscall"
)

// foreign reports whether a folder is another user's. Root's own programs may
// work in a user's.
func foreign(st fs.FileInfo) bool {
	s, ok := st.Sys().(*syscall.Stat_t)
	return ok && os.Geteuid() != 0 && int(s.Uid) != os.Geteuid()
}
