package checkpoint

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
)

// set is the files of a run, by folder. Files that a checkpoint has taken are
// not given again.
type set struct {
	fsys  fs.FS
	files []File
	below map[string][]int // folder, and each folder above it, to files
	dirs  []string         // all folders in order
	taken map[int]bool
}

func newSet(fsys fs.FS, files []File) *set {
	s := &set{fsys: fsys, files: files, below: map[string][]int{}, taken: map[int]bool{}}
	for i, f := range files {
		d := path.Dir(f.Path)
		if f.Dir {
			d = f.Path
		}
		for ; ; d = path.Dir(d) {
			if _, ok := s.below[d]; !ok {
				s.dirs = append(s.dirs, d)
			}
			s.below[d] = append(s.below[d], i)
			if d == path.Dir(d) {
				break
			}
		}
	}
	slices.Sort(s.dirs)
	return s
}

// group is what lies in one folder.
type group struct {
	*set
	dir   string
	idx   []int
	ref   run.Ref
	mod   time.Time
	bytes int64
}

// group collects a folder with all below it that is not taken.
func (s *set) group(dir string) group {
	g := group{set: s, dir: dir}
	for _, i := range s.below[dir] {
		if s.taken[i] {
			continue
		}
		f := s.files[i]
		if f.Path == dir {
			g.ref = f.Ref
		}
		if f.ModTime.After(g.mod) {
			g.mod = f.ModTime
		}
		if !f.Dir {
			g.idx = append(g.idx, i)
			g.bytes += max(f.Size, 0)
			if g.ref.Line == 0 {
				g.ref = f.Ref
			}
		}
	}
	return g
}

// take marks the whole folder and makes the checkpoint of it.
func (g group) take(v verdict) run.Checkpoint {
	for _, i := range g.below[g.dir] {
		g.taken[i] = true
	}
	return run.Checkpoint{
		Path: g.dir, Step: Step(g.dir), Complete: v.ok, Why: v.why,
		ModifiedAt: g.mod, Size: g.bytes, Ref: g.ref,
	}
}

// find is the first file of a group whose name, relative to its folder, matches.
func (g group) find(match func(rel string) bool) (File, bool) {
	for _, i := range g.idx {
		if match(g.rel(g.files[i])) {
			return g.files[i], true
		}
	}
	return File{}, false
}

func (g group) has(rel string) bool {
	_, ok := g.find(func(r string) bool { return r == rel })
	return ok
}

// each yields the files of a group with their names relative to its folder.
func (g group) each(f func(rel string, f File)) {
	for _, i := range g.idx {
		f(g.rel(g.files[i]), g.files[i])
	}
}

func (g group) rel(f File) string {
	if g.dir == "." {
		return f.Path
	}
	return strings.TrimPrefix(f.Path, g.dir+"/")
}

// inside reports whether one of the folders above dir is taken already.
func (s *set) inside(dir string) bool {
	for _, i := range s.below[dir] {
		if !s.taken[i] {
			return false
		}
	}
	return len(s.below[dir]) > 0
}

// opened calls f with a file's bytes, where they can be had.
func (s *set) opened(name string, f func(ra io.ReaderAt) verdict) verdict {
	if s.fsys == nil {
		return unknown("only its name and size are known")
	}
	file, err := s.fsys.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return unknown("may not be read")
		}
		return unknown("cannot be opened")
	}
	defer func() { _ = file.Close() }() // only read
	ra, ok := file.(io.ReaderAt)
	if !ok {
		return unknown("cannot be read at an offset")
	}
	return f(ra)
}

// small is the text of a small file, "" when it cannot be had.
func (s *set) small(name string, limit int64) string {
	var b []byte
	s.opened(name, func(ra io.ReaderAt) verdict {
		b, _ = io.ReadAll(io.NewSectionReader(ra, 0, limit))
		return verdict{}
	})
	return string(b)
}
