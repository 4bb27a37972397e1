//go:build !unix

package file

import (
	"io/fs"
	"os"
)

// ReadFlags open a file for reading.
const ReadFlags = os.O_RDONLY

// Identity tells a file from another one that took its name, "-" where the
// system does not.
func Identity(info fs.FileInfo) string {
	if i, ok := info.(Identified); ok {
		return i.Identity()
	}
	return "-"
}
