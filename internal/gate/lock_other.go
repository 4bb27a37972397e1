//go:build !unix

package gate

import (
	"errors"
	"os"
)

// lockFile refuses: where there are no such locks nothing can be done safely.
func lockFile(string, bool) (*os.File, error) {
	return nil, errors.New("actions need a system with file locks")
}
