// Package tensorboard is the source of runs that write TensorBoard event files:
// scalars in both forms, hyperparameters, many files of one run, files that grow
// and files that were cut. Nothing of TensorFlow is needed.
package tensorboard

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/host"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Kind is the source of TensorBoard log folders.
func Kind() *source.Kind {
	return &source.Kind{
		Scheme: "tensorboard", Type: "tensorboard", Flag: "tensorboard", Example: "--tensorboard runs/exp42",
		Doc:  "a TensorBoard log folder: the run in it that was written last",
		Open: open,
	}
}

func open(_ context.Context, ref string, opt source.Options) (source.Source, error) {
	if ref == "" {
		return nil, fmt.Errorf("tensorboard: no folder: %w", source.ErrBadTarget)
	}
	if rest, ok := strings.CutPrefix(ref, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			ref = filepath.Join(home, rest)
		}
	}
	find := func(context.Context) (source.Source, error) { return find(ref, opt.Watch) }
	src, err := find(context.Background())
	if err != nil && opt.Watch && isMissing(ref) {
		return source.Await(ref, find), nil
	}
	return src, err
}

func isMissing(name string) bool {
	_, err := os.Stat(name)
	return os.IsNotExist(err)
}

// find opens a folder, or the folder of one event file.
func find(ref string, watch bool) (source.Source, error) {
	info, err := os.Stat(ref)
	if err != nil {
		return nil, source.Reason("tensorboard", ref, err)
	}
	d := &dir{name: ref, watch: watch}
	if !info.IsDir() {
		if !IsFile(filepath.ToSlash(ref)) {
			return nil, fmt.Errorf("tensorboard: %s is neither a folder nor an event file (events.out.tfevents.…): %w", ref, source.ErrBadTarget)
		}
		d.name, d.only = filepath.Dir(ref), filepath.Base(ref)
	}
	if d.root, err = os.OpenRoot(d.name); err != nil {
		return nil, source.Reason("tensorboard", ref, err)
	}
	return d, nil
}

// dir is a folder of event files.
type dir struct {
	root  *os.Root
	name  string
	only  string // the one file of it that was named
	watch bool
}

// Close implements source.Source.
func (d *dir) Close() error { return d.root.Close() }

// Observe implements source.Source.
func (d *dir) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	obs := run.Observation{At: time.Now(), Next: run.Cursor{}}
	files, err := d.files(ctx, &obs)
	if err != nil {
		return obs, err
	}
	if len(files) == 0 && !d.watch {
		return obs, fmt.Errorf("tensorboard: %s: no event file (events.out.tfevents.…) in it; name the folder that tensorboard --logdir takes: %w", d.name, source.ErrNoEvidence)
	}
	if len(files) == 0 {
		obs.Gaps = append(obs.Gaps, run.Gap{What: d.name, Why: "has no event file (events.out.tfevents.…) yet", Ask: "wait until the run writes one, or the folder that tensorboard --logdir takes"})
	}
	if err := Look(ctx, files, d.watch, since, &obs); err != nil {
		return obs, err
	}
	for _, v := range obs.Facts {
		if v.Key == runKey { // here it is the run's tracker; among artifacts it is one of several
			obs.Facts = append(obs.Facts, run.Fact{Key: run.FactTracker, Value: "TensorBoard", From: v.From}, run.Fact{Key: run.FactTrackerRun, Value: v.Value, From: v.From})
			break
		}
	}
	if d.watch {
		obs.Facts = append(obs.Facts, host.Facts(d.name)...)
	} else if since == nil && len(files) > 0 && len(obs.Samples) == 0 {
		obs.Gaps = append(obs.Gaps, run.Gap{What: d.name, Why: "its event files hold no scalar", Ask: "the log of the run"})
	}
	source.Once(&obs, since)
	return obs, nil
}

const maxEntries = 50_000

// files lists the event files of the folder, within bounds.
func (d *dir) files(ctx context.Context, obs *run.Observation) ([]File, error) {
	var out []File
	seen := 0
	err := fs.WalkDir(d.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			obs.Gaps = append(obs.Gaps, run.Gap{What: name, Why: source.Reason("tensorboard", name, err).Error(), Ask: "a readable copy of it"})
			return nil
		}
		if seen++; seen > maxEntries {
			obs.Gaps = append(obs.Gaps, run.Gap{What: d.name, Why: fmt.Sprintf("has more than %d files; the rest was not looked at", maxEntries), Ask: "the folder of this run alone"})
			return fs.SkipAll
		}
		if !IsFile(name) || d.only != "" && name != d.only {
			return nil
		}
		info, err := d.root.Stat(name)
		if err != nil || !info.Mode().IsRegular() {
			return nil
		}
		out = append(out, File{Name: name, Size: info.Size(), Mod: info.ModTime(), Open: func() (source.Opened, error) { return d.root.Open(name) }})
		return nil
	})
	return out, err
}
