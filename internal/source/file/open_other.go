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
func Identity(fs.FileInfo) string { return "-" }
