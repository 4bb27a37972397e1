package file

import (
	"io/fs"

	"github.com/trainmedic/trainmedic/internal/source"
)

// Reason is source.Reason.
func Reason(op, name string, err error) error { return source.Reason(op, name, err) }

// kindOf names what is not a regular file.
func kindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "folder"
	case m&fs.ModeNamedPipe != 0:
		return "FIFO"
	case m&fs.ModeSocket != 0:
		return "socket"
	case m&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}
