package file

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

// Bounds of what one look of a watch gives, so that no log keeps the others or
// the watch waiting.
const (
	maxLook = 256 << 20 // bytes of all logs together
	minLook = 1 << 20   // of one log
)

// Share is what one of n logs may give in one look; 0, no bound, where nobody
// watches.
func Share(watch bool, n int) int64 {
	if !watch {
		return 0
	}
	return max(minLook, maxLook/int64(max(1, n)))
}

// Round is one look at several logs of a folder, of which one may be an older
// part of another.
type Round struct {
	Since run.Cursor
	Held  map[string]string // see Held
	took  map[string]string
}

// Order sorts names so that a log is looked at before what may be an older part
// of it: those that were followed first, those that moved last.
func (r *Round) Order(names []string) []string {
	place := func(name string) int {
		switch {
		case r.Held[name] != "":
			return 2
		case Followed(r.Since[name]):
			return 0
		}
		return 1
	}
	names = slices.Clone(names)
	slices.SortStableFunc(names, func(a, b string) int {
		if d := place(a) - place(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// Look looks at one log, unless another one took it as its older part.
func (r *Round) Look(ctx context.Context, l Log) (View, error) {
	if next, ok := r.took[l.Name]; ok {
		return View{Next: next}, nil
	}
	if next, ok := r.Held[l.Name]; ok {
		return View{Next: next}, nil
	}
	v, err := l.Look(ctx, r.Since[l.Name])
	for base, next := range v.Took {
		if r.took == nil {
			r.took = map[string]string{}
		}
		r.took[path.Join(path.Dir(l.Name), base)] = next
	}
	return v, err
}
