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
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/host"
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
	s := newLogs(opt)
	if ref == "-" {
		if opt.Stdin == nil {
			return nil, fmt.Errorf("file: -: there is no standard input: %w", source.ErrBadTarget)
		}
		s.stdin = newInput(opt.Stdin, "-")
	} else if err := opt.Roots.Check(fixedPath(expand(ref))); err != nil {
		return nil, err
	} else if err := s.find(expand(ref)); err != nil {
		if !opt.Watch || !errors.Is(err, source.ErrNotFound) {
			return nil, err
		}
		return withFolder(ctx, awaited(ref, opt, beside), opt, beside)
	}
	return withFolder(ctx, s, opt, beside)
}

// awaited is a log, or a folder of logs, that is not there yet.
func awaited(ref string, opt source.Options, beside *source.Kind) source.Source {
	opt.Artifacts = ""
	return source.Await(ref, func(ctx context.Context) (source.Source, error) {
		if info, err := os.Stat(expand(ref)); err == nil && info.IsDir() && beside != nil {
			return beside.Open(ctx, ref, opt)
		}
		s := newLogs(opt)
		return s, s.find(expand(ref))
	})
}

// withFolder adds the artifact directory that the user named beside the log.
func withFolder(ctx context.Context, s source.Source, opt source.Options, beside *source.Kind) (source.Source, error) {
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
	watch bool
	roots source.Roots
	stdin *input
}

func newLogs(opt source.Options) *logs {
	return &logs{last: opt.Last, watch: opt.Watch, roots: opt.Roots}
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
		if s.roots.Check(p) != nil {
			continue
		}
		if info, err := os.Stat(p); err != nil || info.Mode().IsRegular() {
			s.paths = append(s.paths, p)
		}
	}
	sort.Strings(s.paths)
	return nil
}

// fixedPath is the path, or the folder above a glob's first pattern.
func fixedPath(ref string) string {
	if _, err := os.Lstat(ref); err == nil || !isGlob(ref) {
		return ref
	}
	return fixedPart(ref)
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
	if err := s.lookAll(ctx, since, &obs); err != nil {
		return obs, err
	}
	if since == nil && len(obs.Streams) == 0 && len(obs.Gaps) > 0 {
		return obs, unseen(obs.Gaps)
	}
	if s.watch {
		obs.Facts = append(obs.Facts, host.Facts(s.dir)...)
	}
	source.Once(&obs, since)
	return obs, nil
}

// lookAll looks at every log. It fails when all of them do.
func (s *logs) lookAll(ctx context.Context, since run.Cursor, obs *run.Observation) error {
	names, idents := s.names(since)
	r := Round{Since: since, Held: Held(since, idents)}
	var errs []error
	for _, name := range r.Order(names) {
		if err := ctx.Err(); err != nil {
			return err
		}
		p := filepath.Join(s.dir, filepath.FromSlash(name))
		v, err := r.Look(ctx, Log{
			Name: name, Last: s.last, Max: Share(s.watch, len(names)), Folder: folderIn(s.roots, p),
			Open: func() (Opened, error) { return s.roots.Open(p, ReadFlags) },
		})
		if err != nil {
			errs = append(errs, err)
			base := filepath.Base(p)
			v.gap(base, err.Error(), "a readable copy of "+run.Name(base))
		}
		v.Into(obs, name)
	}
	if len(errs) > 0 && len(errs) == len(names) {
		return errors.Join(errs...)
	}
	return nil
}

// names are the logs of a look, those that are gone included, and the identity
// of each that is there.
func (s *logs) names(since run.Cursor) ([]string, map[string]string) {
	idents := map[string]string{}
	var names []string
	for _, p := range s.paths {
		name, err := filepath.Rel(s.dir, p)
		if err != nil {
			name = filepath.Base(p)
		}
		name = filepath.ToSlash(name)
		if info, err := os.Stat(p); err == nil {
			idents[name] = Identity(info)
		}
		names = append(names, name)
	}
	for name, next := range since {
		if Followed(next) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, idents
}

// Close implements source.Source.
func (s *logs) Close() error {
	if s.stdin != nil {
		return s.stdin.Close()
	}
	return nil
}
