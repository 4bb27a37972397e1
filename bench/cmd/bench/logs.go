package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// generation changes when the generator writes other bytes.
const generation = 1

// seeds keep the kinds apart.
var seeds = map[string]int{"main": 1, "metric95": 2, "longline": 3, "cr": 4, "rank": 5, "hits": 6, "quiet": 6, "pure": 9}

// log generates a log, unless an earlier run left it, and names it.
func (k *kit) log(ctx context.Context, kind, format string, size int64) (string, error) {
	name := filepath.Join(k.Dir, fmt.Sprintf("%s%s-%d-%d.log", kind, format, size, generation))
	return name, k.make(ctx, name, k.gen, "-kind", kind, "-format", format, "-size", fmt.Sprint(size), "-seed", fmt.Sprint(seeds[kind]))
}

// times is a log n times over.
func (k *kit) times(ctx context.Context, log string, n int) (string, error) {
	if n == 1 {
		return log, nil
	}
	args := []string{"cat"}
	for range n {
		args = append(args, log)
	}
	name := fmt.Sprintf("%s.x%d", log, n)
	return name, k.make(ctx, name, args...)
}

// make writes what a command prints into a file, unless the file is there.
func (k *kit) make(ctx context.Context, name string, args ...string) error {
	if _, err := os.Stat(name); err == nil {
		return nil
	}
	say("writing %s", name)
	f, err := os.Create(name + ".part")
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:forbidigo // a bench runs programs
	cmd.Stdout, cmd.Stderr = f, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.Rename(f.Name(), name)
}

// slice is the last n bytes of a log.
func (k *kit) slice(ctx context.Context, log string, n int64) (string, error) {
	name := fmt.Sprintf("%s.last%d", log, n)
	return name, k.make(ctx, name, "tail", "-c", fmt.Sprint(n), log)
}

// warm reads a file, so that no command pays for the disk.
func warm(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(io.Discard, f)
	return err
}
