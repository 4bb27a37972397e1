package source

import (
	"io"
	"io/fs"
)

// Opened is a file that can be read at any place: of this machine, or of one
// that is looked at from here.
type Opened interface {
	io.Reader
	io.ReaderAt
	io.Closer
	Stat() (fs.FileInfo, error)
}
