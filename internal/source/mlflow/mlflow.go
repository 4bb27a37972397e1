// Package mlflow is the source of runs that MLflow keeps: in a folder (mlruns),
// in a SQLite file (mlflow.db), or behind a tracking server. What MLflow says of a
// run's state is taken as a claim: a killed run stays RUNNING for ever.
package mlflow

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Kind is the source of MLflow runs.
func Kind() *source.Kind {
	return &source.Kind{
		Scheme: "mlflow", Type: "mlflow", Flag: "mlflow", Example: "--mlflow RUN_ID",
		Doc:  "an MLflow run: id or name, mlruns, mlflow.db or http://server (its newest run)",
		Open: open,
	}
}

func open(ctx context.Context, ref string, opt source.Options) (source.Source, error) {
	t, err := parse(ref)
	if err != nil {
		return nil, err
	}
	find := func(ctx context.Context) (source.Source, error) { return find(ctx, t) }
	src, err := find(ctx)
	if opt.Watch && errors.Is(err, source.ErrNotFound) {
		return source.Await("MLflow run "+ref, find), nil
	}
	return src, err
}

// store is one place where runs are kept.
type store interface {
	// find is the id of the run that is meant by an id or a name, of the newest
	// one where want is "", and the others, the newest first.
	find(ctx context.Context, want string) (id string, others []other, err error)
	info(ctx context.Context, id string) (*info, error)
	// history adds the samples that are new since a cursor.
	history(ctx context.Context, i *info, since run.Cursor, obs *run.Observation) error
	close() error
}

// other is a run that was not meant, and the target that means it.
type other struct{ name, target string }

// maxSamples is how many samples one look gives.
const maxSamples = 1 << 16

// tracked is one run of a store.
type tracked struct {
	store  store
	id     string
	others []other // runs beside it that the target may mean as well
	live   bool    // the store itself, not a copy among artifacts
}

func find(ctx context.Context, t target) (source.Source, error) {
	s, err := t.open()
	if err != nil {
		return nil, err
	}
	return within(ctx, s, t.run, true)
}

func within(ctx context.Context, s store, want string, live bool) (source.Source, error) {
	id, others, err := s.find(ctx, want)
	if err != nil {
		s.close() //nolint:errcheck // it was only read
		return nil, err
	}
	return &tracked{store: s, id: id, others: others, live: live}, nil
}

// Folder is the newest run of a store of files that lies among artifacts. The
// caller closes what dir stands on.
func Folder(ctx context.Context, dir fs.FS, name string) (source.Source, error) {
	return within(ctx, &folder{fsys: dir, done: func() error { return nil }, name: name}, "", false)
}

// Database is the newest run of a SQLite store that lies among artifacts.
func Database(ctx context.Context, path, name string) (source.Source, error) {
	s, err := openDB(path, name)
	if err != nil {
		return nil, err
	}
	return within(ctx, s, "", false)
}

// named is how a run is told to a person.
func named(name, id string) string { return strings.TrimSpace(name + " (" + id + ")") }

// Close implements source.Source.
func (t *tracked) Close() error { return t.store.close() }

// Observe implements source.Source.
func (t *tracked) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	obs := run.Observation{At: time.Now(), Next: run.Cursor{}}
	if err := ctx.Err(); err != nil {
		return obs, err
	}
	i, err := t.store.info(ctx, t.id)
	if err != nil {
		return obs, err
	}
	i.facts(t.live, since, &obs)
	if err := t.store.history(ctx, i, since, &obs); err != nil {
		return obs, err
	}
	if len(t.others) > 0 {
		var names []string
		for _, o := range t.others {
			names = append(names, o.name)
		}
		obs.Gaps = append(obs.Gaps, source.Others("MLflow", named(i.name, i.id), names, "--mlflow "+t.others[0].target))
	}
	source.Once(&obs, since)
	return obs, nil
}
