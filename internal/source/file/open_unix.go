//go:build unix

package file

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ReadFlags open a file for reading; a FIFO without a writer does not block.
const ReadFlags = os.O_RDONLY | syscall.O_NONBLOCK

// Identity tells a file from another one that took its name, "-" where the
// system does not.
func Identity(info fs.FileInfo) string {
	if i, ok := info.(Identified); ok {
		return i.Identity()
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", st.Dev, st.Ino)
	}
	return "-"
}
