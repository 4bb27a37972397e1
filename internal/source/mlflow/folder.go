package mlflow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

const metaName = "meta.yaml"

// folder is a store of files: EXPERIMENT/RUN/meta.yaml, or a part of one.
type folder struct {
	fsys fs.FS
	done func() error
	name string // what the target calls it
}

func (f *folder) close() error { return f.done() }

// meta is a run's meta.yaml; that of an experiment has no run_id.
type meta struct {
	RunID     string `yaml:"run_id"`
	RunUUID   string `yaml:"run_uuid"` // before MLflow 1.0
	RunName   string `yaml:"run_name"`
	Status    int    `yaml:"status"`
	StartTime int64  `yaml:"start_time"`
	EndTime   *int64 `yaml:"end_time"`
	Lifecycle string `yaml:"lifecycle_stage"`
}

func (m *meta) id() string {
	if m.RunID != "" {
		return m.RunID
	}
	return m.RunUUID
}

const (
	maxMeta = 1 << 20
	maxRuns = 100_000
)

func (f *folder) meta(dir string) (*meta, error) {
	b, err := f.small(path.Join(dir, metaName))
	if err != nil {
		return nil, err
	}
	m := &meta{}
	if err := yaml.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("mlflow: %s: it is damaged or half written: %w: %w", path.Join(dir, metaName), err, source.ErrNoEvidence)
	}
	return m, nil
}

// small is a small file, whole.
func (f *folder) small(name string) ([]byte, error) {
	r, err := f.fsys.Open(name)
	if err != nil {
		return nil, source.Reason("mlflow", name, err)
	}
	defer r.Close() //nolint:errcheck // it was only read
	return io.ReadAll(io.LimitReader(r, maxMeta))
}

// find implements store; the id of a run is its folder.
func (f *folder) find(ctx context.Context, want string) (string, []other, error) {
	if m, err := f.meta("."); err == nil && m.id() != "" && (want == "" || want == m.id() || want == m.RunName) {
		return ".", nil, nil
	}
	type found struct {
		dir string
		*meta
	}
	var all []found
	for _, pattern := range []string{"*/" + metaName, "*/*/" + metaName} {
		names, err := fs.Glob(f.fsys, pattern)
		if err != nil {
			return "", nil, source.Reason("mlflow", f.name, err)
		}
		for _, name := range names[:min(len(names), maxRuns)] {
			if err := ctx.Err(); err != nil {
				return "", nil, err
			}
			dir := path.Dir(name)
			if want != "" && path.Base(dir) == want {
				return dir, nil, nil
			}
			m, err := f.meta(dir)
			if err != nil || m.id() == "" || m.Lifecycle == "deleted" || want != "" && m.RunName != want {
				continue
			}
			all = append(all, found{dir, m})
		}
	}
	switch {
	case len(all) == 0 && want != "":
		return "", nil, fmt.Errorf("mlflow: %s has no run %s: %w", f.name, want, source.ErrNotFound)
	case len(all) == 0:
		return "", nil, fmt.Errorf("mlflow: %s holds no run (no EXPERIMENT/RUN/meta.yaml): %w", f.name, source.ErrNotFound)
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.StartTime, a.StartTime) })
	var others []other
	for _, o := range all[1:min(len(all), source.MaxOthers+1)] {
		others = append(others, other{named(o.RunName, o.id()), path.Join(f.name, o.dir)})
	}
	return all[0].dir, others, nil
}

// info implements store. The params and tags of a run are files.
func (f *folder) info(_ context.Context, dir string) (*info, error) {
	m, err := f.meta(dir)
	if err != nil {
		return nil, err
	}
	i := &info{id: m.id(), name: m.RunName, status: statuses[m.Status], start: milliseconds(m.StartTime), from: path.Join(dir, metaName)}
	if m.EndTime != nil {
		i.end = milliseconds(*m.EndTime)
	}
	i.params, i.tags = f.values(path.Join(dir, "params")), f.values(path.Join(dir, "tags"))
	if i.name == "" {
		i.name = i.tags["mlflow.runName"]
	}
	return i, nil
}

const maxValues = 2000

// values reads a folder of files of which each is one value; a key with a slash
// is a folder.
func (f *folder) values(dir string) map[string]string {
	out := map[string]string{}
	walk(f.fsys, dir, func(name string) bool {
		b, err := f.small(name)
		if err == nil {
			out[strings.TrimPrefix(name, dir+"/")] = strings.TrimSpace(string(b))
		}
		return len(out) < maxValues
	})
	return out
}

// walk calls each with the regular files below a folder until it wants no more.
func walk(fsys fs.FS, dir string, each func(name string) bool) {
	fs.WalkDir(fsys, dir, func(name string, d fs.DirEntry, err error) error { //nolint:errcheck // what cannot be read is not there
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		if !each(name) {
			return fs.SkipAll
		}
		return nil
	})
}

// history implements store: each metric is a file that only grows.
func (f *folder) history(ctx context.Context, i *info, since run.Cursor, obs *run.Observation) error {
	dir := path.Join(path.Dir(i.from), "metrics")
	var err error
	walk(f.fsys, dir, func(name string) bool {
		err = f.metric(ctx, name, strings.TrimPrefix(name, dir+"/"), since, obs)
		if err != nil && ctx.Err() == nil {
			obs.Gaps = append(obs.Gaps, run.Gap{What: name, Why: err.Error(), Ask: "a readable copy of " + run.Name(name)})
			err = nil
		}
		return err == nil
	})
	return err
}

// metric reads on in the file of one metric.
func (f *folder) metric(ctx context.Context, name, key string, since run.Cursor, obs *run.Observation) error {
	p := parsePoint(since["mlflow.metric "+key])
	keep := func() { obs.Next["mlflow.metric "+key] = p.String() }
	defer keep()
	if len(obs.Samples) >= maxSamples {
		obs.More = true
		return nil
	}
	r, err := f.fsys.Open(name)
	if err != nil {
		return source.Reason("mlflow", name, err)
	}
	defer r.Close() //nolint:errcheck // it was only read
	info, err := r.Stat()
	if err != nil {
		return source.Reason("mlflow", name, err)
	}
	at, ok := r.(io.ReaderAt)
	if !ok {
		return errors.New("the file cannot be read from its middle")
	}
	if info.Size() < p.offset { // written anew
		p = point{}
	}
	return p.read(ctx, at, info.Size(), name, key, obs)
}
