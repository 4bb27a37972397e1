package source

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
)

// NotYet is why a target that is awaited is a gap.
const NotYet = "is not there yet"

// Await is a target that may not be there yet: until open finds it a look is a
// gap, said once. Any other error of open is an error of the look.
func Await(name string, open func(ctx context.Context) (Source, error)) Source {
	return &awaited{name: name, open: open}
}

type awaited struct {
	name string
	open func(ctx context.Context) (Source, error)
	src  Source // nil until it is there
}

// Observe implements Source.
func (a *awaited) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	obs := run.Observation{At: time.Now(), Next: run.Cursor{}}
	if err := ctx.Err(); err != nil {
		return obs, err
	}
	if a.src == nil {
		src, err := a.open(ctx)
		if errors.Is(err, ErrNotFound) {
			obs.Gaps = []run.Gap{{
				What: a.name, Why: NotYet,
				Ask: fmt.Sprintf("wait until the run writes it; if it does already, the place where (instead of %s)", a.name),
			}}
			maps.Copy(obs.Next, since) // it may be gone for a moment only
			Once(&obs, since)
			return obs, nil
		}
		if err != nil {
			return obs, err
		}
		a.src = src
	}
	return a.src.Observe(ctx, since)
}

// Close implements Source.
func (a *awaited) Close() error {
	if a.src == nil {
		return nil
	}
	return a.src.Close()
}
