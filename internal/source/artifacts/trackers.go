package artifacts

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/mlflow"
	"github.com/trainmedic/trainmedic/internal/source/tensorboard"
)

// records are what experiment trackers left in the directory.
type records struct {
	events []tensorboard.File
	stores []string // mlruns folders
	dbs    []string // mlflow.db files
}

// putEvents remembers a TensorBoard event file.
func putEvents(l *look, e entry, _ string) bool {
	if !tensorboard.IsFile(e.name) {
		return false
	}
	l.records.events = append(l.records.events, tensorboard.File{Name: e.name, Size: e.size, Mod: e.mod, Open: l.open(e.name)})
	return true
}

// putStore remembers a SQLite file that MLflow may have made.
func putStore(l *look, e entry, head string) bool {
	if !strings.HasPrefix(head, "SQLite format 3\x00") {
		return false
	}
	l.records.dbs = append(l.records.dbs, e.name)
	return true
}

// isStore reports whether a folder is what MLflow keeps runs in; what lies in it
// is read by its own reader.
func (l *look) isStore(name string) bool {
	if path.Base(name) != "mlruns" {
		return false
	}
	l.records.stores = append(l.records.stores, name)
	return true
}

// trackers reads what trackers left. An artifact of a run that MLflow keeps is no
// part of the directory's own run.
func (l *look) trackers(ctx context.Context) error {
	if err := tensorboard.Look(ctx, l.records.events, l.opt.Watch, l.since, &l.obs); err != nil {
		return err
	}
	for _, name := range l.records.stores {
		sub, err := fs.Sub(l.root.FS(), name)
		if err != nil {
			continue
		}
		src, err := mlflow.Folder(ctx, sub, name)
		if err := l.nested(ctx, name, src, err); err != nil {
			return err
		}
	}
	_, here := l.root.(local)
	for _, name := range l.records.dbs {
		if !here {
			l.gap(name, "is an SQLite database on another machine", "a copy of "+run.Name(name)+" on this machine (trainmedic check --mlflow COPY)")
			continue
		}
		src, err := mlflow.Database(ctx, filepath.Join(l.name, filepath.FromSlash(name)), name)
		if err := l.nested(ctx, name, src, err); err != nil {
			return err
		}
	}
	return nil
}

// nested adds what a source sees that lies in the directory under a name. A store
// without a run, or a database of something else, is no loss.
func (l *look) nested(ctx context.Context, name string, src source.Source, err error) error {
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, source.ErrNotFound) && !errors.Is(err, source.ErrBadTarget) {
			l.gap(name, err.Error(), "a readable copy of "+run.Name(name))
		}
		return ctx.Err()
	}
	defer src.Close()
	mark := "in " + name + ": "
	var since run.Cursor
	for k, v := range l.since {
		if rest, ok := strings.CutPrefix(k, mark); ok {
			if since == nil {
				since = run.Cursor{}
			}
			since[rest] = v
		}
	}
	obs, err := src.Observe(ctx, since)
	if err != nil {
		if ctx.Err() == nil {
			l.gap(name, err.Error(), "a readable copy of "+run.Name(name))
		}
		return ctx.Err()
	}
	in := func(r run.Ref) run.Ref {
		if r.File != "" && r.File != name {
			r.File = path.Join(name, r.File)
		}
		return r
	}
	for i := range obs.Samples {
		obs.Samples[i].Ref = in(obs.Samples[i].Ref)
	}
	for i := range obs.Facts {
		obs.Facts[i].From = in(obs.Facts[i].From)
	}
	for k, v := range obs.Next {
		l.obs.Next[mark+k] = v
	}
	l.obs.Samples, l.obs.Facts, l.obs.Gaps = append(l.obs.Samples, obs.Samples...), append(l.obs.Facts, obs.Facts...), append(l.obs.Gaps, obs.Gaps...)
	l.obs.More = l.obs.More || obs.More
	return nil
}
