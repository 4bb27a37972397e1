package ssh

import (
	"bytes"
	"context"
	"io"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// folder is a run directory on a host.
type folder struct {
	tree  *tree
	name  string
	inner source.Source
}

// Observe implements source.Source.
func (f *folder) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	t := f.tree
	t.begin(ctx)
	defer t.end()
	if err := t.list(ctx, maxDepth); err != nil {
		return run.Observation{}, t.reason(f.name, err)
	}
	if err := t.bring(ctx); err != nil {
		return run.Observation{}, t.reason(f.name, err)
	}
	obs, err := f.inner.Observe(ctx, since)
	if err != nil || !t.opt.Watch {
		return obs, err
	}
	if err := secure(ctx, obs.Streams); err != nil {
		return obs, err
	}
	return obs, t.broken // a file that could not be had for that reason is no gap
}

// Close implements source.Source.
func (f *folder) Close() error { return f.inner.Close() }

// secure reads the streams of a look before the look ends: what cannot be had is
// then an error of the look, which is done again from where it began, and no
// byte is lost or given twice.
func secure(ctx context.Context, streams []run.Stream) error {
	for n := range streams {
		st := &streams[n]
		if st.Size == 0 { // nothing, or decoded as it comes
			continue
		}
		r, err := st.Open(ctx)
		if err != nil {
			return err
		}
		if _, here := r.(interface{ Origin(line int) run.Ref }); here { // its text is in memory already
			r.Close()
			continue
		}
		text, err := io.ReadAll(r)
		r.Close()
		if err != nil {
			return err
		}
		st.Open = func(ctx context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(text)), ctx.Err()
		}
	}
	return nil
}
