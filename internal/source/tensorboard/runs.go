package tensorboard

import (
	"cmp"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/source"
)

// File is one event file. Its Name is relative to the target, with forward
// slashes.
type File struct {
	Name string
	Size int64
	Mod  time.Time
	Open func() (source.Opened, error)
}

var fileName = regexp.MustCompile(`tfevents\.(\d+)`)

// IsFile reports whether a name is that of an event file that may hold scalars.
func IsFile(name string) bool {
	return fileName.MatchString(path.Base(name)) && !strings.HasSuffix(name, ".profile-empty")
}

// phases are folders beside each other that belong to one run: Keras writes
// train and validation, an estimator eval.
var phases = regexp.MustCompile(`(?i)^(?:train(?:ing)?|val(?:id(?:ation)?)?|eval(?:uation)?|test(?:ing)?|dev|plugins)(?:[_-]\w+)?$`)

// newest picks the files of the run that was written last, in the order in which
// they were begun, and the folder of it. A folder with event files of its own is a
// run, with all that is below it (add_scalars and hparams make folders). others
// are the folders of the runs beside it, the newest first.
func newest(files []File) (own []File, base string, others []string) {
	beside := map[string][]File{} // by their folders
	for {
		groups := map[string][]File{}
		for _, f := range files {
			rest := strings.TrimPrefix(strings.TrimPrefix(f.Name, base), "/")
			sub, _, deeper := strings.Cut(rest, "/")
			if !deeper {
				return inOrder(files), base, newestFirst(beside)
			}
			groups[sub] = append(groups[sub], f)
		}
		best, allPhases := "", true
		for sub := range groups {
			allPhases = allPhases && phases.MatchString(sub)
			if best == "" || later(groups[sub], groups[best]) || !later(groups[best], groups[sub]) && sub > best {
				best = sub
			}
		}
		if best == "" || allPhases {
			return inOrder(files), base, newestFirst(beside)
		}
		for sub, other := range groups {
			if sub != best {
				beside[path.Join(base, sub)] = other
			}
		}
		files, base = groups[best], path.Join(base, best)
	}
}

func newestFirst(runs map[string][]File) []string {
	return slices.SortedFunc(maps.Keys(runs), func(a, b string) int {
		switch {
		case later(runs[a], runs[b]):
			return -1
		case later(runs[b], runs[a]):
			return 1
		}
		return strings.Compare(b, a)
	})
}

// later reports whether a was written after b.
func later(a, b []File) bool {
	last := func(files []File) (t time.Time) {
		for _, f := range files {
			if f.Mod.After(t) {
				t = f.Mod
			}
		}
		return t
	}
	return last(a).After(last(b))
}

// inOrder sorts files by the time in their names: of a run that was resumed the
// older part comes first.
func inOrder(files []File) []File {
	begun := func(f File) int64 {
		m := fileName.FindStringSubmatch(path.Base(f.Name))
		if m == nil {
			return 0
		}
		n, _ := strconv.ParseInt(m[1], 10, 64)
		return n
	}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(begun(a), begun(b)), cmp.Compare(a.Name, b.Name))
	})
	return files
}

// metricName is the name of a tag in a folder below the run's: add_scalars("loss",
// {"val": …}) writes the tag "loss" into the folder "loss_val".
func metricName(folder, tag string) string {
	if folder == "" || folder == "." {
		return tag
	}
	if rest, ok := strings.CutPrefix(path.Base(folder), strings.ReplaceAll(tag, "/", "_")+"_"); ok && rest != "" {
		return tag + "_" + rest
	}
	if hparamsFolder.MatchString(path.Base(folder)) {
		return tag
	}
	return folder + "/" + tag
}

// hparamsFolder is what torch's add_hparams makes: the time, as a number.
var hparamsFolder = regexp.MustCompile(`^\d{9,}(?:\.\d+)?$`)
