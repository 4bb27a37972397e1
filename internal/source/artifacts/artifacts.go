// Package artifacts is the source of run directories: the logs, the
// configuration, the trainer's state, the checkpoints, and whatever a user
// exported beside them (a Vertex job as JSON, kubectl, sacct, df, nvidia-smi,
// py-spy …). What cannot be read becomes a gap. Files are sorted by name and by
// content, read within bounds, and never through a symbolic link that leaves
// the directory.
package artifacts

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/trainmedic/trainmedic/internal/host"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// Kind is the source of run directories.
func Kind() *source.Kind {
	return &source.Kind{
		Scheme: "artifacts", Type: "artifact-dir", Example: "runs/exp42/",
		Doc:   "a run's folder: logs of all ranks, configs, checkpoints, exported jobs and command outputs",
		Claim: claim,
		Open:  open,
	}
}

func claim(target string) bool {
	info, err := os.Stat(home(target))
	return err == nil && info.IsDir()
}

func home(p string) string {
	if rest, ok := strings.CutPrefix(p, "~"); ok && (rest == "" || strings.HasPrefix(rest, "/")) {
		if h, err := os.UserHomeDir(); err == nil {
			return filepath.Join(h, rest)
		}
	}
	return p
}

func open(_ context.Context, ref string, opt source.Options) (source.Source, error) {
	first, err := openDir(ref, opt)
	if err != nil || opt.Artifacts == "" || filepath.Clean(home(opt.Artifacts)) == filepath.Clean(home(ref)) {
		return first, err
	}
	second, err := openDir(opt.Artifacts, opt)
	if err != nil {
		first.Close()
		return nil, err
	}
	return file.Beside(first, second), nil
}

func openDir(ref string, opt source.Options) (source.Source, error) {
	if ref == "" {
		return nil, fmt.Errorf("artifacts: no directory: %w", source.ErrBadTarget)
	}
	ref = home(ref)
	info, err := os.Stat(ref)
	if err != nil {
		return nil, file.Reason("artifacts", ref, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("artifacts: %s is not a folder; name it as a log instead: %w", ref, source.ErrBadTarget)
	}
	root, err := os.OpenRoot(ref)
	if err != nil {
		return nil, file.Reason("artifacts", ref, err)
	}
	return &dir{root: root, name: ref, opt: opt}, nil
}

// dir is one run directory.
type dir struct {
	root *os.Root
	name string
	opt  source.Options
}

// Close implements source.Source.
func (d *dir) Close() error { return d.root.Close() }

// Observe implements source.Source.
func (d *dir) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	l := newLook(d, since)
	if err := l.walk(ctx); err != nil {
		return l.obs, err
	}
	if err := l.sort(ctx); err != nil {
		return l.obs, err
	}
	if d.opt.Watch {
		l.obs.Facts = append(l.obs.Facts, host.Facts(d.name)...)
	}
	return l.finish()
}
