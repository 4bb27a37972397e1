package artifacts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// Bounds of the walk.
const (
	maxDepth = 8
	maxFiles = 20000
	maxNames = 1_000_000 // past maxFiles only for logs
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
	id   string // see file.Identity
}

// look is one look at a directory.
type look struct {
	*dir
	ctx      context.Context // of the look, for the drawers
	since    run.Cursor
	obs      run.Observation
	entries  []entry
	aliases  []entry // symbolic links to files inside the directory
	folders  []string
	denied   int
	logs     []run.Stream
	exports  []run.Stream
	saved    map[string]bool // paths of checkpoints
	configs  int             // facts made of configurations so far
	state    *trainer        // the newest trainer_state.json
	labels   []labelColumn
	archives []string // what may hold the run, packed
	records  records
	ends     []run.Sample   // of files that state how a run ended
	dumps    []entry        // of flight recorders
	classes  map[string]int // configuration keys that give the number of classes
	round    file.Round
	share    int64               // bytes that one stream may give
	whole    int64               // bytes of the files that were read whole
	wandb    map[string][]string // the W&B runs of a folder that count; see newest
}

func newLook(d *dir, since run.Cursor) *look {
	return &look{
		dir: d, since: since, obs: run.Observation{At: time.Now(), Next: run.Cursor{}},
		saved: map[string]bool{}, classes: map[string]int{}, wandb: map[string][]string{}, round: file.Round{Since: since},
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
		if seen++; seen == maxFiles+1 {
			l.gap(l.name, fmt.Sprintf("has more than %d files; of the rest only logs were looked at", maxFiles), "the folder of this run alone")
		}
		if seen > maxNames || len(l.entries) > 2*maxFiles {
			return fs.SkipAll
		}
		if d.IsDir() {
			return l.enter(name)
		}
		if seen > maxFiles && !export.IsLogName(name) {
			return nil
		}
		l.add(name, d, own)
		return nil
	})
	for _, a := range l.aliases {
		if a.id == "-" || !own[a.id] {
			own[a.id] = true
			l.entries = append(l.entries, a)
		}
	}
	l.order()
	return err
}

// order puts the files into the order in which they are looked at, says which
// of them are older parts of a log, and how much each may give.
func (l *look) order() {
	names, idents, large := make([]string, 0, len(l.entries)), map[string]string{}, 0
	byName := map[string]entry{}
	for _, e := range l.entries {
		names, byName[e.name], idents[e.name] = append(names, e.name), e, e.id
		if e.size > 1<<20 {
			large++
		}
	}
	l.share = file.Share(l.opt.Watch, large)
	if l.most > 0 && l.opt.Watch {
		l.share = min(l.share, max(l.most/int64(max(1, large)), 64<<10))
	}
	l.round.Held = file.Held(l.since, idents)
	for i, name := range l.round.Order(names) {
		l.entries[i] = byName[name]
	}
}

func (l *look) enter(name string) error {
	if skipDirs[path.Base(name)] || name != "." && l.ownedByWandb(name) {
		return fs.SkipDir
	}
	if l.isStore(name) {
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
	e := entry{name: name, size: info.Size(), mod: info.ModTime(), id: file.Identity(info)}
	if link {
		l.aliases = append(l.aliases, e)
		return
	}
	own[e.id] = true
	l.entries = append(l.entries, e)
}

func (l *look) unreadable(name string, err error) {
	if errors.Is(err, fs.ErrPermission) {
		l.denied++
	}
	l.gap(name, file.Reason("artifacts", name, err).Error(), "a readable copy of "+run.Name(path.Base(name)))
}

func (l *look) gap(what, why, ask string) {
	l.obs.Gaps = append(l.obs.Gaps, run.Gap{What: what, Why: why, Ask: ask})
}

// folder is where a file of the directory lies.
func (l *look) folder(name string) *file.Folder {
	dir, root := path.Dir(name), l.root
	return &file.Folder{
		List: func() ([]fs.DirEntry, error) { return fs.ReadDir(root.FS(), dir) },
		Open: func(base string) (file.Opened, error) { return l.open(path.Join(dir, base))() },
	}
}

// open opens one file of the directory without blocking.
func (l *look) open(name string) func() (file.Opened, error) {
	root := l.root
	return func() (file.Opened, error) { return root.Open(name) }
}
