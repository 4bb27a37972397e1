package effect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/trainmedic/trainmedic/internal/gate/effect/far"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/process"
)

// place is a machine on which runs live: this one, or a far.Host. Nothing of it
// changes anything.
type place interface {
	Name() string // "" is this machine
	Identity(ctx context.Context) ([]string, error)
	Process(ctx context.Context, pid int) (far.Process, error)
	Launch(ctx context.Context, pid int) (far.Launch, error)
	Writer(ctx context.Context, path string) (int, error)
	Prints(ctx context.Context, paths []string) ([]string, error)
	First(ctx context.Context, paths []string) (path, real string, err error)
	IsDir(ctx context.Context, path string) (bool, error)
	Running(ctx context.Context, args []string, dir string) (int, error)
	Dir(ctx context.Context, path string) (fs.FS, error)
	Readlink(ctx context.Context, path string) (string, error)
	Close()
}

// at is the place of a host's name, to be closed; "" is this machine.
func (e *Effects) at(host string) (place, error) {
	if host == "" {
		return here{}, nil
	}
	return far.On(&e.hosts, host)
}

// lives looks whether a process is there, and was not used again.
func lives(ctx context.Context, at place, pid int, start string) (bool, error) {
	p, err := at.Process(ctx, pid)
	if gone(err) {
		return false, nil
	}
	return err == nil && p.Start == start, err
}

// here is this machine.
type here struct{}

func (here) Name() string { return "" }

func (here) Close() {}

func (here) Identity(context.Context) ([]string, error) { return nil, nil }

func (here) Process(_ context.Context, pid int) (far.Process, error) {
	k, err := process.Know(pid)
	if err != nil || !k.Lives() {
		return far.Process{}, fmt.Errorf("effect: there is no process %d (any more): %w", pid, source.ErrNotFound)
	}
	group, err := groupOf(pid)
	return far.Process{PID: pid, Parent: k.Parent, Group: group, Start: k.Start, State: k.State}, err
}

func (here) Launch(_ context.Context, pid int) (far.Launch, error) {
	l := far.Launch{Args: process.Args(pid), Env: process.Environ(pid), Program: process.Program(pid), Dir: process.Cwd(pid)}
	if path, info := process.Output(pid); info != nil {
		l.Output = path
	}
	return l, nil
}

func (here) Writer(_ context.Context, path string) (int, error) { return process.Writer(path), nil }

func (here) Prints(_ context.Context, paths []string) (out []string, err error) {
	for _, p := range paths {
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() {
			out = append(out, print(p))
		}
	}
	return out, nil
}

// maxPrinted is the largest file whose bytes are compared.
const maxPrinted = 16 << 20

// print names the bytes of a file, or of a large one its size and time.
func print(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return path + " cannot be read"
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return path + " cannot be read"
	}
	if st.Size() > maxPrinted {
		return fmt.Sprintf("%s %d bytes of %d", path, st.Size(), st.ModTime().UnixNano())
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxPrinted+1)); err != nil {
		return path + " cannot be read"
	}
	return path + " " + hex.EncodeToString(h.Sum(nil)[:16])
}

func (here) First(_ context.Context, paths []string) (path, real string, err error) {
	for _, p := range paths {
		if st, err := os.Stat(p); err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0 {
			real, err := filepath.EvalSymlinks(p)
			return p, real, err
		}
	}
	return "", "", nil
}

func (here) IsDir(_ context.Context, path string) (bool, error) {
	st, err := os.Stat(path)
	return err == nil && st.IsDir(), nil
}

func (here) Dir(_ context.Context, path string) (fs.FS, error) { return os.DirFS(path), nil }

func (here) Readlink(_ context.Context, path string) (string, error) { return os.Readlink(path) }

func (here) Running(_ context.Context, args []string, dir string) (int, error) {
	for _, pid := range process.All() {
		if slices.Equal(process.Args(pid), args) && process.Cwd(pid) == dir {
			if k, err := process.Know(pid); err == nil && k.Lives() {
				return pid, nil
			}
		}
	}
	return 0, nil
}
