package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// kit is the programs of a run. A peer that cannot be had is "" and a note says why.
type kit struct {
	settings
	product, gen, measure   string
	rg15, rg13, hyperscan   string
	python, grep, gzip, zst string
	notes                   []string
}

const patterns = "bench/signatures-300.txt"

// find builds what is ours and looks for the rest, or installs it below Dir.
func (k *kit) find(ctx context.Context) error {
	bin := filepath.Join(k.Dir, "bin")
	k.product, k.gen, k.measure = filepath.Join(bin, "trainmedic"), filepath.Join(bin, "gen"), filepath.Join(bin, "measure")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	for _, b := range [][]string{
		{"go", "build", "-o", k.product, "./cmd/trainmedic"},
		{"go", "build", "-o", k.gen, "./bench/cmd/gen"},
		{"cc", "-O2", "-o", k.measure, "bench/native/measure.c"},
	} {
		if _, err := output(ctx, b...); err != nil {
			return err
		}
	}
	for _, p := range []struct {
		name string
		path *string
		get  func(context.Context) (string, error)
	}{
		{"ripgrep 15", &k.rg15, k.getRipgrep15},
		{"ripgrep 13", &k.rg13, k.getRipgrep13},
		{"hyperscan", &k.hyperscan, k.getHyperscan},
		{"python3", &k.python, k.getPython},
		{"grep", &k.grep, inPath("grep")},
		{"gzip", &k.gzip, inPath("gzip")},
		{"zstd", &k.zst, inPath("zstd")},
	} {
		path, err := p.get(ctx)
		if err != nil {
			k.note("%s is missing: %v", p.name, err)
		}
		*p.path = path
	}
	return nil
}

func (k *kit) note(format string, args ...any) {
	k.notes = append(k.notes, fmt.Sprintf(format, args...))
	say(format, args...)
}

func inPath(name string) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return exec.LookPath(name) }
}

func (k *kit) getRipgrep15(ctx context.Context) (string, error) {
	dir := filepath.Join(k.Dir, "ripgrep15")
	find := func() (string, error) { return glob(dir, "node_modules/@vscode/ripgrep-*/bin/rg") }
	if rg, err := find(); err == nil {
		return rg, nil
	}
	if _, err := output(ctx, "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, "@vscode/ripgrep@1.18.0"); err != nil {
		return "", err
	}
	return find()
}

func (k *kit) getRipgrep13(ctx context.Context) (string, error) {
	if err := k.debian(ctx, "ripgrep"); err != nil {
		return "", err
	}
	return glob(filepath.Join(k.Dir, "debian"), "usr/bin/rg")
}

func (k *kit) getHyperscan(ctx context.Context) (string, error) {
	if err := k.debian(ctx, "libhyperscan-dev", "libhyperscan5"); err != nil {
		return "", err
	}
	usr := filepath.Join(k.Dir, "debian", "usr")
	lib, err := glob(usr, "lib/*/libhs.so")
	if err != nil {
		return "", err
	}
	lib = filepath.Dir(lib)
	driver := filepath.Join(k.Dir, "bin", "hyperscan")
	_, err = output(ctx, "cc", "-O2", "-I"+usr+"/include", "-o", driver, "bench/native/hyperscan.c", "-L"+lib, "-Wl,-rpath,"+lib, "-lhs")
	return driver, err
}

// getPython takes the interpreter itself: pyenv's python3 is a slow shell script.
func (k *kit) getPython(ctx context.Context) (string, error) {
	return output(ctx, "python3", "-c", "import sys; print(sys.executable)")
}

// debian unpacks packages below Dir; nothing is installed.
func (k *kit) debian(ctx context.Context, packages ...string) error {
	dir := filepath.Join(k.Dir, "debian")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, p := range packages {
		if _, err := glob(dir, p+"_*.deb"); err == nil {
			continue
		}
		if _, err := outputIn(ctx, dir, "apt-get", "download", p); err != nil {
			return fmt.Errorf("%w (does apt-get update help?)", err)
		}
		deb, err := glob(dir, p+"_*.deb")
		if err != nil {
			return err
		}
		if _, err := output(ctx, "dpkg", "-x", deb, dir); err != nil {
			return err
		}
	}
	return nil
}

func glob(dir, pattern string) (string, error) {
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) == 0 {
		return "", errors.Join(fmt.Errorf("no %s in %s", pattern, dir), err)
	}
	return found[0], nil
}

// output runs a command in the module's root and gives what it prints, trimmed.
func output(ctx context.Context, args ...string) (string, error) { return outputIn(ctx, "", args...) }

func outputIn(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:forbidigo // a bench runs programs
	cmd.Dir = dir
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w %s", strings.Join(args, " "), err, strings.TrimSpace(complaint.String()))
	}
	return strings.TrimSpace(string(out)), nil
}
