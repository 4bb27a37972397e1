package wandb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/wandblog"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

var (
	runFolder = regexp.MustCompile(`^(?:offline-)?run-(\d{8}_\d{6})-(.+)$`)
	runID     = regexp.MustCompile(`^[\w-]+$`)
)

// local is the folder or the transaction log that a ref means on this machine,
// "" where it means a run at the service. A bare id means the folder of that run
// if one lies here: it knows more than the service.
func local(ref string, watch bool) (string, error) {
	info, err := os.Stat(ref)
	switch {
	case err == nil && !info.IsDir():
		return ref, nil
	case err == nil && (watch || newest(ref, "") != ""):
		return ref, nil
	case err == nil:
		return "", noRun(ref)
	case errors.Is(err, fs.ErrPermission):
		return "", file.Reason("wandb", ref, err)
	case runID.MatchString(ref) && !isPath(ref):
		return newest(".", ref), nil
	case isPath(ref) && watch:
		return ref, nil
	case isPath(ref):
		return "", file.Reason("wandb", ref, err)
	}
	return "", nil
}

func noRun(dir string) error {
	return fmt.Errorf("wandb: %s: no W&B run in it; name the folder that holds run-ID.wandb, or the one above: %w", dir, source.ErrNotFound)
}

// isPath tells a path that is missing from the name of a run at the service.
func isPath(ref string) bool {
	return filepath.IsAbs(ref) || strings.HasPrefix(ref, ".") || strings.HasSuffix(ref, ".wandb") || strings.HasSuffix(ref, "/latest-run") ||
		runFolder.MatchString(filepath.Base(ref))
}

// newest is the folder of the newest run in dir: dir itself, or one in it, in
// its wandb or its .wandb. Where id is given, it is the newest of that run.
func newest(dir, id string) string {
	if id == "" && isRun(dir) {
		if p, err := filepath.EvalSymlinks(dir); err == nil {
			return p
		}
		return dir
	}
	for _, d := range []string{dir, filepath.Join(dir, "wandb"), filepath.Join(dir, ".wandb")} {
		entries, err := os.ReadDir(d)
		if err != nil {
			continue
		}
		var best, at string
		for _, e := range entries {
			m := runFolder.FindStringSubmatch(e.Name())
			if m != nil && e.IsDir() && (id == "" || m[2] == id) && m[1] >= at {
				best, at = filepath.Join(d, e.Name()), m[1]
			}
		}
		if best != "" {
			return best
		}
	}
	return ""
}

// isRun reports whether a folder is that of one run.
func isRun(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return strings.HasPrefix(e.Name(), "run-") && strings.HasSuffix(e.Name(), ".wandb")
	})
}

// openLocal opens a folder or a lone transaction log. A watch may begin before the
// run does.
func openLocal(ctx context.Context, path string, opt source.Options, dir *source.Kind) (source.Source, error) {
	src, err := openNow(ctx, path, opt, dir)
	if opt.Watch && errors.Is(err, source.ErrNotFound) {
		return source.Await(path, func(ctx context.Context) (source.Source, error) { return openNow(ctx, path, opt, dir) }), nil
	}
	return src, err
}

func openNow(ctx context.Context, path string, opt source.Options, dir *source.Kind) (source.Source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, file.Reason("wandb", path, err)
	}
	in := path
	if !info.IsDir() {
		in = filepath.Dir(path)
		if !isRun(in) || !runFolder.MatchString(filepath.Base(in)) {
			return beside(ctx, &lone{path, opt.Watch}, opt, dir)
		}
	}
	if in = newest(in, ""); in == "" {
		return nil, noRun(path)
	}
	src, err := dir.Open(ctx, in, opt)
	if err != nil {
		return nil, err
	}
	return &folder{src, in, opt.Watch}, nil
}

// beside adds the artifact directory that the user named.
func beside(ctx context.Context, src source.Source, opt source.Options, dir *source.Kind) (source.Source, error) {
	if opt.Artifacts == "" {
		return src, nil
	}
	d, err := dir.Open(ctx, opt.Artifacts, opt)
	if err != nil {
		return nil, err
	}
	return file.Beside(src, d), nil
}

// folder is the folder of one run. Of a watched one, the exit record is how the
// run ends, not what a document says of some run.
type folder struct {
	source.Source
	path  string
	watch bool
}

// Observe implements source.Source.
func (f *folder) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	obs, err := f.Source.Observe(ctx, since)
	if err != nil {
		return obs, err
	}
	f.gone(&obs, since)
	if f.watch {
		live(obs.Facts)
	}
	return obs, nil
}

func live(facts []run.Fact) {
	for i := range facts {
		if facts[i].Key == run.FactExitCode && strings.HasSuffix(facts[i].From.File, ".wandb") {
			facts[i].From = run.Ref{}
		}
	}
}

// lone is a transaction log without its folder.
type lone struct {
	path  string
	watch bool
}

const loneKey = "log"

// Observe implements source.Source.
func (l *lone) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	obs := run.Observation{At: time.Now(), Next: run.Cursor{}}
	if err := ctx.Err(); err != nil {
		return obs, err
	}
	info, err := os.Stat(l.path)
	if err != nil {
		return obs, file.Reason("wandb", l.path, err)
	}
	log := wandblog.Log{
		Name: filepath.Base(l.path), Ident: file.Identity(info), Watch: l.watch, Console: true,
		Open: func() (source.Opened, error) { return os.OpenFile(l.path, file.ReadFlags, 0) },
	}
	v, err := log.Look(ctx, since[loneKey])
	if err != nil {
		return obs, file.Reason("wandb", l.path, err)
	}
	v.Into(&obs, loneKey)
	if since == nil && !l.watch && len(v.Samples)+len(v.Facts)+len(v.Streams) == 0 {
		return obs, fmt.Errorf("wandb: %s: nothing of a run can be read in it; pass the run's folder: %w", l.path, source.ErrNoEvidence)
	}
	if l.watch {
		live(obs.Facts)
	}
	source.Once(&obs, since)
	return obs, nil
}

// Close implements source.Source.
func (l *lone) Close() error { return nil }
