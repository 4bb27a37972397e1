package file

import (
	"context"
	"errors"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// withArtifacts is a log and the directory that the user named beside it: of
// that come facts, samples, checkpoints and the exports, but no second log.
type withArtifacts struct{ log, dir source.Source }

const besideKey = "//" // begins the directory's part of the cursor; no name does

// Beside is a target and an artifact directory beside it, looked at as one.
func Beside(log, dir source.Source) source.Source { return &withArtifacts{log, dir} }

// Observe implements source.Source.
func (w *withArtifacts) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	own, part := split(since)
	obs, err := w.log.Observe(ctx, own)
	if err != nil {
		return obs, err
	}
	dir, err := w.dir.Observe(ctx, part)
	if err != nil {
		if ctx.Err() != nil {
			return obs, err
		}
		obs.Gaps = append(obs.Gaps, run.Gap{What: "the artifact directory", Why: err.Error(), Ask: "a readable artifact directory"})
		return obs, nil
	}
	names := map[string]bool{}
	for _, s := range obs.Streams {
		names[s.Name] = true
	}
	for _, s := range dir.Streams {
		if s.Kind != "log" && !names[s.Name] {
			obs.Streams = append(obs.Streams, s)
		}
	}
	obs.Samples = append(obs.Samples, dir.Samples...)
	obs.Facts = append(obs.Facts, dir.Facts...)
	obs.Checkpoints = append(obs.Checkpoints, dir.Checkpoints...)
	obs.Processes = append(obs.Processes, dir.Processes...)
	obs.Gaps = append(obs.Gaps, dir.Gaps...)
	obs.More = obs.More || dir.More
	if obs.Pipeline == nil {
		obs.Pipeline = dir.Pipeline
	}
	for k, v := range dir.Next {
		obs.Next[besideKey+k] = v
	}
	return obs, nil
}

// split gives each of the two its part of the cursor.
func split(since run.Cursor) (log, dir run.Cursor) {
	if since == nil {
		return nil, nil
	}
	log, dir = run.Cursor{}, run.Cursor{}
	for k, v := range since {
		if name, ok := strings.CutPrefix(k, besideKey); ok {
			dir[name] = v
		} else {
			log[k] = v
		}
	}
	return log, dir
}

// Close implements source.Source.
func (w *withArtifacts) Close() error { return errors.Join(w.log.Close(), w.dir.Close()) }
