// Package artifacts is the source of run directories: the logs, the
// configuration, the trainer's state, the checkpoints, and whatever a user
// exported beside them (a Vertex job as JSON, kubectl, sacct, df, nvidia-smi,
// py-spy …). What cannot be read becomes a gap. Files are sorted by name and by
// content, read within bounds, and never through a symbolic link that leaves
// the directory.
package artifacts

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

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
	if err := opt.Roots.Check(ref); err != nil {
		return nil, err
	}
	info, err := os.Stat(ref)
	if err != nil {
		return nil, file.Reason("artifacts", ref, err)
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("artifacts: %s is not a folder; name it as a log instead: %w", ref, source.ErrBadTarget)
	}
	root, err := opt.Roots.OpenDir(ref)
	if err != nil {
		return nil, file.Reason("artifacts", ref, err)
	}
	return &dir{root: local{root}, name: ref, opt: opt, facts: func() []run.Fact { return host.Facts(ref) }}, nil
}

// dir is one run directory.
type dir struct {
	root  file.Tree
	name  string
	opt   source.Options
	facts func() []run.Fact // of the machine where it lies; nil for none
	most  int64             // bytes that a look of a watch gives, 0 for the usual
	room  []run.Sample      // memory of the last look's samples, for the next one that follows at once
}

// local is a folder of this machine.
type local struct{ *os.Root }

// Open implements file.Tree. What is no file may give bytes without end, or none
// and no end.
func (l local) Open(name string) (file.Opened, error) {
	f, err := l.OpenFile(name, file.ReadFlags, 0)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, cmp.Or(err, error(&fs.PathError{Op: "open", Path: name, Err: syscall.ENXIO}))
	}
	return f, nil
}

// Over is the source of a run directory that lies elsewhere. A look of a watch
// gives most bytes of logs and little more. The source closes the tree.
func Over(tree file.Tree, name string, most int64, opt source.Options) source.Source {
	return &dir{root: tree, name: name, opt: opt, most: most}
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
	if d.opt.Watch && d.facts != nil {
		l.obs.Facts = append(l.obs.Facts, d.facts()...)
	}
	if d.room = nil; l.obs.More {
		d.room = l.obs.Samples
	}
	return l.finish()
}
