// Package file is the source of local logs: one file (plain, gzip, zstd,
// UTF-16), several ranks by a glob, standard input, or a pasted traceback. It
// opens nothing but regular files and never blocks on a FIFO. Files are opened
// when a stream's turn comes, so a thousand rank logs need no thousand open
// files.
package file

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Kind is the source of local logs. beside opens the directory that
// Options.Artifacts names; nil means that there is no such kind.
func Kind(beside *source.Kind) *source.Kind {
	return &source.Kind{
		Scheme: "file", Type: "local-log", Example: "run.log | - | 'logs/rank*.log'",
		Doc:   "a local log (also .gz, .zst), - for standard input, a quoted glob for one log a rank",
		Claim: claim,
		Open: func(ctx context.Context, ref string, opt source.Options) (source.Source, error) {
			return open(ctx, ref, opt, beside)
		},
	}
}

// claim takes what exists, what globs, and what looks like a path.
func claim(target string) bool {
	if target == "-" || isGlob(target) {
		return true
	}
	if info, err := os.Lstat(target); err == nil {
		return !info.IsDir()
	}
	if host, _, ok := strings.Cut(target, ":"); ok && (strings.Contains(host, "@") || strings.Contains(target, ":/")) {
		return false // user@host:path, host:/path or a URL
	}
	ext := filepath.Ext(target)
	return strings.ContainsAny(target, `/\`) || strings.HasPrefix(target, "~") || (len(ext) > 1 && len(ext) <= 7)
}

func isGlob(s string) bool { return strings.ContainsAny(s, "*?[") }

func open(ctx context.Context, ref string, opt source.Options, beside *source.Kind) (source.Source, error) {
	if ref == "" {
		return nil, fmt.Errorf("file: no path: %w", source.ErrBadTarget)
	}
	s := &logs{last: opt.Last}
	if ref == "-" {
		if opt.Stdin == nil {
			return nil, fmt.Errorf("file: -: there is no standard input: %w", source.ErrBadTarget)
		}
		s.stdin = &input{from: opt.Stdin, name: "-"}
	} else if err := s.find(expand(ref)); err != nil {
		return nil, err
	}
	if opt.Artifacts == "" || beside == nil {
		return s, nil
	}
	b, err := beside.Open(ctx, opt.Artifacts, opt)
	if err != nil {
		return nil, err
	}
	return Beside(s, b), nil
}

// logs is one log or several of one run.
type logs struct {
	dir   string // what the names are relative to
	glob  string
	paths []string
	last  int
	stdin *input
}

// find resolves a path or glob; a glob is resolved again at each look.
func (s *logs) find(ref string) error {
	info, err := os.Stat(ref)
	switch {
	case err == nil && info.IsDir():
		return fmt.Errorf("file: %s is a folder; name it as an artifact directory: %w", ref, source.ErrBadTarget)
	case err == nil && !info.Mode().IsRegular():
		return fmt.Errorf("file: %s is a %s, not a log; redirect it to a file, or pipe it to '-': %w", ref, kindOf(info.Mode()), source.ErrNoEvidence)
	case err == nil:
		s.dir, s.paths = filepath.Dir(ref), []string{ref}
		return nil
	case !isGlob(ref):
		return Reason("file", ref, err)
	}
	s.glob, s.dir = ref, fixedPart(ref)
	if err := s.expandGlob(); err != nil {
		return err
	}
	if len(s.paths) == 0 {
		return fmt.Errorf("file: no file matches %s; quote the glob and check the folder: %w", ref, source.ErrNotFound)
	}
	return nil
}

func (s *logs) expandGlob() error {
	found, err := filepath.Glob(s.glob)
	if err != nil {
		return fmt.Errorf("file: glob %s: %w: %w", s.glob, err, source.ErrBadTarget)
	}
	s.paths = s.paths[:0]
	for _, p := range found {
		if info, err := os.Stat(p); err != nil || info.Mode().IsRegular() {
			s.paths = append(s.paths, p)
		}
	}
	sort.Strings(s.paths)
	return nil
}

// fixedPart is the folder above the first pattern.
func fixedPart(glob string) string {
	dir := filepath.Dir(glob)
	for isGlob(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

func expand(p string) string {
	if rest, ok := strings.CutPrefix(p, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return p
}

// Observe implements source.Source.
func (s *logs) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	obs := run.Observation{At: time.Now(), Next: run.Cursor{}}
	if err := ctx.Err(); err != nil {
		return obs, err
	}
	if s.stdin != nil {
		return s.stdin.observe(ctx, since, s.last)
	}
	if s.glob != "" {
		if err := s.expandGlob(); err != nil {
			return obs, err
		}
	}
	var errs []error
	for _, p := range s.paths {
		if err := ctx.Err(); err != nil {
			return obs, err
		}
		if err := s.look(p, since, &obs); err != nil {
			errs = append(errs, err)
			obs.Gaps = append(obs.Gaps, run.Gap{What: filepath.Base(p), Why: err.Error(), Ask: "a readable copy of " + filepath.Base(p)})
		}
	}
	if len(errs) > 0 && len(errs) == len(s.paths) {
		return obs, errors.Join(errs...)
	}
	if since == nil && len(obs.Streams) == 0 && len(obs.Gaps) > 0 {
		return obs, unseen(obs.Gaps)
	}
	return obs, nil
}

func (s *logs) look(p string, since run.Cursor, obs *run.Observation) error {
	name, err := filepath.Rel(s.dir, p)
	if err != nil {
		name = filepath.Base(p)
	}
	name = filepath.ToSlash(name)
	v, err := Log{
		Name: name, Last: s.last,
		Open: func() (*os.File, error) { return os.OpenFile(p, ReadFlags, 0) },
	}.Look(since[name])
	if err != nil {
		return err
	}
	v.Into(obs, name)
	return nil
}

// Close implements source.Source.
func (s *logs) Close() error {
	if s.stdin != nil {
		return s.stdin.Close()
	}
	return nil
}
