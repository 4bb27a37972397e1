package artifacts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// Bounds of the walk.
const (
	maxDepth   = 8
	maxEntries = 20000
)

// skipDirs hold nothing of the run itself.
var skipDirs = map[string]bool{
	".git": true, "node_modules": true, "__pycache__": true, ".venv": true, "site-packages": true,
	".ipynb_checkpoints": true, ".mypy_cache": true, ".pytest_cache": true, ".svn": true, ".hg": true,
}

// entry is one regular file of the directory.
type entry struct {
	name string // relative, with forward slashes
	size int64
	mod  time.Time
}

// look is one look at a directory.
type look struct {
	*dir
	since    run.Cursor
	obs      run.Observation
	entries  []entry
	aliases  []alias
	folders  []string
	denied   int
	logs     []run.Stream
	exports  []run.Stream
	saved    map[string]bool // paths of checkpoints
	configs  int             // facts made of configurations so far
	state    *trainer        // the newest trainer_state.json
	labels   []labelColumn
	archives []string       // what may hold the run, packed
	classes  map[string]int // configuration keys that give the number of classes
}

func newLook(d *dir, since run.Cursor) *look {
	return &look{
		dir: d, since: since, obs: run.Observation{At: time.Now(), Next: run.Cursor{}},
		saved: map[string]bool{}, classes: map[string]int{},
	}
}

// walk lists the regular files, within bounds.
func (l *look) walk(ctx context.Context) error {
	seen := 0
	own := map[string]bool{} // files by identity, so that a link to one is not a second log
	err := fs.WalkDir(l.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			l.unreadable(name, err)
			return nil
		}
		if seen++; seen > maxEntries {
			l.gap(l.name, fmt.Sprintf("has more than %d files; the rest was not looked at", maxEntries), "the folder of this run alone")
			return fs.SkipAll
		}
		if d.IsDir() {
			return l.enter(name)
		}
		l.add(name, d, own)
		return nil
	})
	for _, a := range l.aliases {
		if a.id == "-" || !own[a.id] {
			own[a.id] = true
			l.entries = append(l.entries, a.entry)
		}
	}
	slices.SortFunc(l.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return err
}

func (l *look) enter(name string) error {
	if skipDirs[path.Base(name)] || strings.HasSuffix(name, "wandb/media") || strings.HasSuffix(name, "files/media") {
		return fs.SkipDir
	}
	if name != "." && strings.Count(name, "/")+1 >= maxDepth {
		l.gap(name, fmt.Sprintf("lies deeper than %d folders and was not looked at", maxDepth), "name that folder as the target")
		return fs.SkipDir
	}
	if name != "." {
		l.folders = append(l.folders, name)
	}
	return nil
}

// alias is a symbolic link to a file inside the directory.
type alias struct {
	entry
	id string
}

// add takes a regular file, also behind a symbolic link that stays inside.
func (l *look) add(name string, d fs.DirEntry, own map[string]bool) {
	info, err := d.Info()
	link := err == nil && info.Mode()&fs.ModeSymlink != 0
	if link {
		info, err = l.root.Stat(name)
	}
	if err != nil {
		l.unreadable(name, err)
		return
	}
	if !info.Mode().IsRegular() {
		return
	}
	e := entry{name: name, size: info.Size(), mod: info.ModTime()}
	if link {
		l.aliases = append(l.aliases, alias{e, file.Identity(info)})
		return
	}
	own[file.Identity(info)] = true
	l.entries = append(l.entries, e)
}

func (l *look) unreadable(name string, err error) {
	if errors.Is(err, fs.ErrPermission) {
		l.denied++
	}
	l.gap(name, file.Reason("artifacts", name, err).Error(), "a readable copy of "+path.Base(name))
}

func (l *look) gap(what, why, ask string) {
	l.obs.Gaps = append(l.obs.Gaps, run.Gap{What: what, Why: why, Ask: ask})
}

// open opens one file of the directory without blocking.
func (l *look) open(name string) func() (*os.File, error) {
	root := l.root
	return func() (*os.File, error) { return root.OpenFile(name, file.ReadFlags, 0) }
}
