package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Roots are the folders below which local files may be read, as absolute paths
// without symbolic links; none means that any file may be. A file is opened
// below its root in one step of the system, so that no link leads out of it,
// not even one that was put there a moment ago.
type Roots []string

// Nowhere are roots below which there is nothing.
var Nowhere = Roots{""}

// NewRoots resolves folders that exist.
func NewRoots(dirs []string) (Roots, error) {
	var out Roots
	for _, d := range dirs {
		real, err := filepath.EvalSymlinks(d)
		if err == nil {
			real, err = filepath.Abs(real)
		}
		if err != nil {
			return nil, fmt.Errorf("source: root %s: %w", d, err)
		}
		if info, err := os.Stat(real); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("source: root %s: not a folder: %w", d, ErrBadTarget)
		}
		out = append(out, real)
	}
	return out, nil
}

// Check refuses a path outside of the roots with ErrDenied, whether or not there
// is anything at it.
func (r Roots) Check(path string) error {
	if len(r) == 0 {
		return nil
	}
	_, _, err := r.find(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Open opens a file for reading.
func (r Roots) Open(path string, flags int) (*os.File, error) {
	if len(r) == 0 {
		return os.OpenFile(path, flags, 0)
	}
	root, rel, err := r.find(path)
	if err != nil {
		return nil, err
	}
	at, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer at.Close() //nolint:errcheck // the file stays open
	return at.OpenFile(rel, flags, 0)
}

// OpenDir opens a folder, from which no link leads out.
func (r Roots) OpenDir(path string) (*os.Root, error) {
	if len(r) == 0 {
		return os.OpenRoot(path)
	}
	root, rel, err := r.find(path)
	if err != nil {
		return nil, err
	}
	at, err := os.OpenRoot(root)
	if err != nil || rel == "." {
		return at, err
	}
	defer at.Close() //nolint:errcheck // the folder below stays open
	return at.OpenRoot(rel)
}

// find gives the root of a path and the path below it. fs.ErrNotExist means that
// the path is inside, but not there.
func (r Roots) find(path string) (root, rel string, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", "", fmt.Errorf("source: %s: %w", path, err)
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil { // not there, or closed to us: what is known of it decides
		real = deepest(abs)
	}
	for _, root := range r {
		if rel, relErr := filepath.Rel(root, real); relErr == nil && filepath.IsLocal(rel) {
			if err != nil {
				return "", "", fmt.Errorf("source: %s: %w", path, err)
			}
			return root, rel, nil
		}
	}
	return "", "", fmt.Errorf("source: %s is outside of the folders that may be read here: %w", path, ErrDenied)
}

// deepest resolves as much of a path as there is.
func deepest(abs string) string {
	for dir, rest := filepath.Dir(abs), filepath.Base(abs); ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, rest)
		}
		if dir == filepath.Dir(dir) {
			return abs
		}
	}
}
