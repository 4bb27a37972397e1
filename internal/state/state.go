// Package state is where watches and plans of a user lie. Nobody but that user
// writes there: what lies there is believed when a server starts.
package state

import (
	"fmt"
	"os"
	"path/filepath"
)

// Dir is the folder of a user's watches or gate: below $XDG_STATE_HOME, or below
// ~/.local/state. It need not be there.
func Dir(name string) (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("state: no directory for it (set XDG_STATE_HOME): %w", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(base, "trainmedic", name), nil
}

// Make makes a folder that only this user reads and writes. One that is there
// already is closed to others' writing; one of another user is refused.
func Make(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	st, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if foreign(st) {
		return fmt.Errorf("state: %s belongs to another user; set XDG_STATE_HOME to a folder of your own", dir)
	}
	if st.Mode().Perm()&0o022 != 0 {
		if err := os.Chmod(dir, st.Mode().Perm()&^0o022); err != nil {
			return fmt.Errorf("state: %w", err)
		}
	}
	return nil
}
