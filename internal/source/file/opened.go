package file

import (
	"context"
	"io"
	"io/fs"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Opened is source.Opened.
type Opened = source.Opened

// Tree is a folder with all below it. Names are relative to it, with forward
// slashes, and never lead out of it.
type Tree interface {
	FS() fs.FS
	Stat(name string) (fs.FileInfo, error)
	Open(name string) (Opened, error) // MUST NOT block on a FIFO
	Close() error
}

// Identified is what a fs.FileInfo of another machine is too.
type Identified interface{ Identity() string }

// Excerpted is an Opened that is too large to be read whole from where it lies.
// The first look at it reads the excerpt that it makes instead.
type Excerpted interface {
	// Excerpt gives nil when the file can be read whole after all.
	Excerpt() (*Excerpt, error)
}

// Excerpt is what was taken out of a large file. The reader that Open gives has
// the method Origin(line int) run.Ref, since its lines are not the file's.
type Excerpt struct {
	Open  func(ctx context.Context) (io.ReadCloser, error)
	Lines int // how many \n there are in the file before End
	End   int64
	Gap   run.Gap
}
