// Package checkpoint says of saved states whether they are whole. It judges by
// what each format writes last, by names, sizes and bounded headers; it never
// reads the weights and never runs a pickle. A listing (ls -R) is judged as far
// as names and sizes tell. Complete is nil where that does not suffice.
package checkpoint

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
)

// File is one file or folder below the run's directory.
type File struct {
	Path    string // relative, with forward slashes
	Size    int64  // -1 when unknown
	Dir     bool
	ModTime time.Time
	Ref     run.Ref // where a listing names it
}

// format finds the checkpoints of one format and takes their files, so that a
// later format does not see them.
type format struct {
	name string
	find func(*set) []run.Checkpoint
}

// formats in order: who takes a folder first.
var formats = []format{
	{"orbax", orbax},
	{"hf", hf},
	{"megatron", megatron},
	{"deepspeed", deepspeed},
	{"dcp", dcp},
	{"tensorflow", tensorflow},
	{"file", single},
}

// Inspect finds the checkpoints among files. fsys opens them for a look at their
// headers; it is nil when only a listing is at hand. The result is in order of
// step, then path.
//
// A hostile listing costs no more than a large one: of more than maxFiles files the
// rest is left out, and so is a path of more than maxDepth folders.
func Inspect(fsys fs.FS, files []File) []run.Checkpoint {
	s := newSet(fsys, within(files))
	var out []run.Checkpoint
	for _, f := range formats {
		for _, c := range f.find(s) {
			if c.Format == "" {
				c.Format = f.name
			}
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b run.Checkpoint) int {
		if a.Step != b.Step {
			return int(min(max(a.Step-b.Step, -1), 1))
		}
		return strings.Compare(a.Path, b.Path)
	})
	return out
}

// Bounds of what is inspected.
const (
	maxFiles = 100_000
	maxDepth = 48
)

func within(files []File) []File {
	deep := func(f File) bool { return strings.Count(f.Path, "/") > maxDepth }
	files = files[:min(len(files), maxFiles)]
	if slices.ContainsFunc(files, deep) {
		files = slices.DeleteFunc(slices.Clone(files), deep)
	}
	return files
}

// Dir inspects everything below the root of a file system, within the bounds of
// the caller's patience: at most maxFiles.
func Dir(fsys fs.FS) []run.Checkpoint {
	var files []File
	_ = fs.WalkDir(fsys, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == "." {
			return nil
		}
		if len(files) >= maxFiles {
			return fs.SkipAll
		}
		f := File{Path: p, Dir: d.IsDir(), Size: -1}
		if info, err := d.Info(); err == nil && (d.IsDir() || info.Mode().IsRegular()) {
			f.Size, f.ModTime = info.Size(), info.ModTime()
			files = append(files, f)
		}
		return nil
	})
	return Inspect(fsys, files)
}

// verdict is whether one thing is whole; nil when it cannot be told.
type verdict struct {
	ok  *bool
	why string
}

var yes, no = true, false

func whole(why string) verdict   { return verdict{&yes, why} }
func torn(why string) verdict    { return verdict{&no, why} }
func unknown(why string) verdict { return verdict{nil, why} }

func (v verdict) torn() bool { return v.ok != nil && !*v.ok }

var (
	stepName  = regexp.MustCompile(`(?i)(?:^|[-_.=/])(?:global_?steps?|steps?|iters?|iteration|checkpoint|ckpt|model)[-_=]?(\d{1,12})(?:[^\da-z]|$)`)
	epochName = regexp.MustCompile(`(?i)epoch[-_=]?(\d{1,9})(?:[^\d]|$)`)
	bareName  = regexp.MustCompile(`^(\d{1,12})(?:\.[a-z_.-]+)?$`)
)

// Step is the step that a name tells, the epoch if it tells only that, or -1.
func Step(name string) int64 {
	base := path.Base(name)
	for _, re := range []*regexp.Regexp{stepName, epochName, bareName} {
		if m := re.FindAllStringSubmatch(base, -1); m != nil {
			if n, err := strconv.ParseInt(m[len(m)-1][1], 10, 64); err == nil {
				return n
			}
		}
	}
	return -1
}

// unfinishedName tells the names that writers use until a save is finished.
func unfinishedName(base string) bool {
	l := strings.ToLower(base)
	return strings.HasPrefix(l, "tmp-") || strings.HasSuffix(l, ".tmp") || strings.HasSuffix(l, ".partial") ||
		strings.HasSuffix(l, ".incomplete") || strings.HasSuffix(l, ".part") || strings.HasSuffix(l, "_tmp") ||
		strings.Contains(l, "orbax-checkpoint-tmp") || strings.Contains(l, ".tmp-")
}
