package ssh

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"

	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// logs is one log on a host, or several that a pattern names.
type logs struct {
	*disk
	target target
	glob   string // "" for the one that the target names
	tree   *tree  // the folder, when it was listed
}

func (k *kind) newLogs(h *remote.Host, t target, opt source.Options, glob string) *logs {
	return &logs{disk: k.newDisk(h, path.Dir(t.path), opt), target: t, glob: glob}
}

// Observe implements source.Source.
func (s *logs) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	obs := run.Observation{At: time.Now(), Next: run.Cursor{}}
	if err := ctx.Err(); err != nil {
		return obs, err
	}
	s.begin(ctx)
	defer s.end()
	s.tree = nil
	names, idents, err := s.names(ctx, since)
	if err != nil {
		return obs, s.reason(s.target.String(), err)
	}
	r := file.Round{Since: since, Held: file.Held(since, idents)}
	var errs []error
	for _, name := range r.Order(names) {
		v, err := r.Look(ctx, s.log(name, len(names)))
		if err != nil {
			errs = append(errs, s.reason(s.target.Address.String()+":"+s.dir+"/"+name, err))
			v.Gaps = append(v.Gaps, run.Gap{What: name, Why: err.Error(), Ask: "a readable copy of " + run.Name(name)})
		}
		v.Into(&obs, name)
	}
	if len(errs) > 0 && len(errs) == len(names) || errors.Is(errors.Join(errs...), source.ErrUnreachable) {
		return obs, errors.Join(errs...)
	}
	if since == nil && len(obs.Streams) == 0 && len(obs.Gaps) > 0 {
		g := obs.Gaps[0]
		return obs, fmt.Errorf("ssh: %s %s; pass %s: %w", g.What, g.Why, g.Ask, source.ErrNoEvidence)
	}
	source.Once(&obs, since)
	if !s.opt.Watch {
		return obs, nil
	}
	return obs, secure(ctx, obs.Streams)
}

// names are the logs of this look, those that are gone included, and the
// identity of each that is there.
func (s *logs) names(ctx context.Context, since run.Cursor) (names []string, idents map[string]string, err error) {
	idents = map[string]string{}
	if s.glob == "" {
		base := path.Base(s.target.path)
		i, err := s.poll(ctx, base)
		if err != nil && !(errors.Is(err, fs.ErrNotExist) && file.Followed(since[base])) {
			return nil, nil, err
		}
		if err == nil {
			idents[base] = i.ident
		}
		return []string{base}, idents, nil
	}
	if err := s.listed(ctx); err != nil {
		return nil, nil, err
	}
	for name := range s.tree.entries {
		if ok, err := path.Match(s.glob, name); err != nil {
			return nil, nil, fmt.Errorf("ssh: pattern %s: %w: %w", s.glob, err, source.ErrBadTarget)
		} else if i, err := s.tree.stat(name); ok && err == nil && i.mode.IsRegular() {
			names, idents[name] = append(names, name), i.ident
		}
	}
	for name, next := range since {
		if file.Followed(next) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil, nil, fs.ErrNotExist
	}
	slices.Sort(names)
	return names, idents, nil
}

// listed lists the folder of the log once a look.
func (s *logs) listed(ctx context.Context) error {
	if s.tree != nil {
		return nil
	}
	t := &tree{disk: s.disk}
	if err := t.list(ctx, 1); err != nil {
		return err
	}
	s.tree = t
	return nil
}

func (s *logs) log(name string, n int) file.Log {
	l := file.Log{Name: name, Last: s.opt.Last, Open: func() (file.Opened, error) { return s.openAny(name) }}
	if s.opt.Watch {
		l.Max = max(look/int64(max(1, n)), 64<<10)
	}
	l.Folder = &file.Folder{
		List: func() ([]fs.DirEntry, error) {
			if err := s.listed(s.ctx); err != nil {
				return nil, err
			}
			return s.tree.below["."], nil
		},
		Open: func(base string) (file.Opened, error) { return s.openAny(base) },
	}
	return l
}

// openAny opens a file of the folder: as this look saw it, or as it is by now.
func (s *logs) openAny(name string) (file.Opened, error) {
	var i info
	var err error
	k := s.cache.files[name]
	switch seen, ok := s.seen[name]; {
	case s.quick && ok:
		i = seen
	case s.quick && s.tree != nil:
		i, err = s.tree.stat(name)
	case !s.quick && k != nil && s.complete(name, k.info):
		i = k.info
	default:
		i, err = s.poll(s.ctx, name)
	}
	if err != nil {
		return nil, err
	}
	return s.open(name, i), nil
}

// Close implements source.Source.
func (s *logs) Close() error { return nil }
