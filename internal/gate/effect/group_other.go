//go:build !unix

package effect

import (
	"errors"
	"syscall"
)

var errNoGroups = errors.New("this system has no process groups")

func groupOf(int) (int, error) { return 0, errNoGroups }

func signalGroup(int, syscall.Signal) error { return errNoGroups }
