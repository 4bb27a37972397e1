package ssh

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// tree is what a listing found below a folder. It implements file.Tree.
type tree struct {
	*disk
	entries map[string]info // by name relative to the folder, "." for itself
	links   map[string]info // what symbolic links that stay inside lead to
	below   map[string][]fs.DirEntry
	denied  map[string]bool
}

// unlisted are folders that hold nothing of a run, and may hold very much.
var unlisted = []string{".git", "node_modules", "__pycache__", ".venv", "site-packages", ".svn", ".hg"}

const (
	maxListing = 16 << 20
	maxDepth   = 9
	listTime   = time.Minute
)

// list looks at the folder, with all below it to a depth.
func (t *tree) list(ctx context.Context, depth int) error {
	var skip strings.Builder
	for i, name := range unlisted {
		if i > 0 {
			skip.WriteString(" -o ")
		}
		skip.WriteString("-name " + shell.Quote(name))
	}
	text := script(`d=@dir
[ -e "$d" ] || { printf '\n@mark !no such file\n'; exit 0; }
[ -r "$d" ] && [ -x "$d" ] || { printf '\n@mark !permission denied\n'; exit 0; }
cd -- "$d" || exit 0
printf '\n@mark p %s\n' "$(pwd -P)"
find . -maxdepth @depth \( @skip \) -prune -o -exec sh -c 'stat -c "
$0 e @form %n" -- "$@"
for f; do
if [ -h "$f" ]; then printf "\n%s r %s\n" "$0" "$(readlink -f -- "$f")"; stat -Lc "
$0 t @form %n" -- "$f"
elif [ -d "$f" ]; then [ -r "$f" ] && [ -x "$f" ] || printf "\n%s d %s\n" "$0" "$f"
fi; done' @mark {} + 2>/dev/null | head -c @most`,
		"@dir", shell.Quote(t.dir), "@mark", t.mark, "@depth", strconv.Itoa(depth), "@skip", skip.String(), "@form", statForm, "@most", strconv.Itoa(maxListing))
	a, err := t.ask(ctx, remote.Script{Text: text, Pack: true, Patience: listTime, Most: maxListing + 1<<20})
	if err != nil {
		return err
	}
	return t.take(records(a.Out, t.mark))
}

// take reads the records of a listing.
func (t *tree) take(all [][]byte) error {
	t.entries, t.links, t.below, t.denied = map[string]info{}, map[string]info{}, map[string][]fs.DirEntry{}, map[string]bool{}
	root, inside := "", false
	for n, rec := range all {
		kind, text, _ := strings.Cut(string(rec), " ")
		if said, ok := strings.CutPrefix(string(rec), "!"); ok {
			return complaint(said)
		}
		switch kind {
		case "p":
			root = strings.TrimSuffix(text, "\n")
		case "r":
			real := strings.TrimSuffix(text, "\n")
			inside = real == root || strings.HasPrefix(real, strings.TrimSuffix(root, "/")+"/")
		case "d":
			t.denied[path.Clean(strings.TrimSuffix(text, "\n"))] = true
		case "e", "t":
			name, i, err := listed(text)
			if err != nil && n == len(all)-1 {
				continue // the listing was cut
			}
			if err != nil {
				return fmt.Errorf("ssh: %s: %w: %w", t.host.Host(), err, source.ErrNoEvidence)
			}
			if !fs.ValidPath(name) {
				continue
			}
			if kind == "t" {
				if inside {
					t.links[name] = i
				}
				continue
			}
			t.entries[name] = i
			if name != "." {
				t.below[path.Dir(name)] = append(t.below[path.Dir(name)], fs.FileInfoToDirEntry(i))
			}
		}
	}
	for _, l := range t.below {
		slices.SortFunc(l, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	return nil
}

// bring fetches what is small or tells what a file is, of all that is new, at
// once: whole companion files, the heads of others, the ends of archives of
// weights, and what logs gained.
func (t *tree) bring(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cache.keep(func(name string) bool { _, ok := t.entries[name]; return ok })
	var wants []want
	total := int64(0)
	flush := func() error {
		if len(wants) == 0 {
			return nil
		}
		err := t.fetch(ctx, wants)
		wants, total = nil, 0
		return err
	}
	for _, name := range sortedNames(t.entries) {
		i := t.entries[name]
		if l, ok := t.links[name]; ok {
			i = l
		}
		old := t.cache.files[name]
		if !i.mode.IsRegular() || i.size == 0 || old != nil && old.sign == i.sign() && len(old.stretches) > 0 {
			continue
		}
		for _, w := range t.parts(name, i, old) {
			wants = append(wants, w)
			total += w.n
		}
		if total > window || len(wants) >= 500 {
			if err := flush(); err != nil {
				return err
			}
		}
		if t.cache.bytes > maxCached/2 { // the rest when it is asked for
			return nil
		}
	}
	return flush()
}

const (
	small  = 64 << 10
	ending = 64 << 10 // of a zip of weights: its directory
)

// parts are the stretches of a file to bring before it is asked for.
func (t *tree) parts(name string, i info, old *kept) []want {
	switch {
	case i.size <= small:
		return []want{{name, i, 0, i.size}}
	case old != nil && old.info.ident == i.ident && old.info.size <= i.size && old.info.size > page:
		return []want{{name, i, old.info.size - page, min(i.size-old.info.size+page, first)}}
	case weights[path.Ext(name)]:
		return []want{{name, i, 0, page}, {name, i, i.size - ending, ending}}
	}
	return []want{{name, i, 0, page}}
}

// weights are the extensions of saved tensors.
var weights = map[string]bool{".pt": true, ".pth": true, ".ckpt": true, ".bin": true, ".distcp": true, ".keras": true, ".h5": true}

func sortedNames(m map[string]info) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// FS implements file.Tree.
func (t *tree) FS() fs.FS { return treeFS{t} }

// Stat implements file.Tree; it follows links that stay inside.
func (t *tree) Stat(name string) (fs.FileInfo, error) {
	i, err := t.stat(name)
	if err != nil {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	return i, nil
}

func (t *tree) stat(name string) (info, error) {
	i, ok := t.entries[name]
	if l, linked := t.links[name]; linked {
		return l, nil
	}
	if !ok || i.mode&fs.ModeSymlink != 0 {
		return i, fs.ErrNotExist
	}
	return i, nil
}

// Open implements file.Tree. After the look that listed a file, it is asked for
// anew: it may have another name by then.
func (t *tree) Open(name string) (file.Opened, error) {
	i, err := t.stat(name)
	if err == nil && !t.quick && !t.complete(name, i) {
		i, err = t.poll(t.ctx, name)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return t.open(name, i), nil
}

// Close implements file.Tree.
func (t *tree) Close() error { return nil }

// treeFS is the tree as a file system.
type treeFS struct{ *tree }

// Open implements fs.FS.
func (t treeFS) Open(name string) (fs.File, error) { return t.tree.Open(name) }

// ReadDir implements fs.ReadDirFS.
func (t treeFS) ReadDir(name string) ([]fs.DirEntry, error) {
	if t.denied[name] {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return t.below[name], nil
}
