package source

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Reason turns an error of the file system into one of the kinds that a caller
// can act on, with what to do about it. op is the scheme that looks.
func Reason(op, name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %s: no such file; check the path, or name the folder that holds the logs: %w", op, name, ErrNotFound)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: %s: this user may not read it; run as its owner, or copy it to where you may: %w", op, name, ErrDenied)
	case errors.Is(err, syscall.ELOOP):
		return fmt.Errorf("%s: %s: its symbolic links go round in a circle; name the real file: %w", op, name, ErrNotFound)
	case errors.Is(err, syscall.ENXIO):
		return fmt.Errorf("%s: %s: is a socket or FIFO, not a log: %w", op, name, ErrNoEvidence)
	}
	return fmt.Errorf("%s: %s: %w", op, name, err)
}
