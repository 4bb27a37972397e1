package effect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Bounds of what is fetched of one run.
const (
	fetchEach = 128 << 20
	fetchAll  = 256 << 20
	mostFetch = 20 // folders that lie there at once: an agent cannot fill the disk
)

func (e *Effects) resolveFetch(_ context.Context, p gate.Proposal) (gate.Resolved, error) {
	kind, ref, err := e.Sources.Resolve(p.Target)
	if err != nil {
		return gate.Resolved{}, cannot("bad_target", "%v", err)
	}
	if had, err := os.ReadDir(filepath.Join(e.Dir, "evidence")); err == nil && len(had) >= mostFetch {
		return gate.Resolved{}, cannot("too_many", "%d folders lie in %s; a person may clear it", len(had), filepath.Join(e.Dir, "evidence"))
	}
	return gate.Resolved{
		Target: gate.Target{Path: kind.Scheme + ":" + ref, To: filepath.Join(e.Dir, "evidence"), Lineage: p.Target, Prints: []string{p.Project, p.Region}},
		Does:   []string{"copy the logs of " + run.Name(p.Target) + " into a new folder in " + filepath.Join(e.Dir, "evidence"), "nothing of the run is changed"},
	}, nil
}

// fetch copies what a source shows of a run.
func (e *Effects) fetch(ctx context.Context, p gate.Permit) (gate.Outcome, error) {
	kind, ref, err := e.Sources.Resolve(p.Target().Path)
	if err != nil {
		return gate.Outcome{}, err
	}
	src, err := kind.Open(ctx, ref, source.Options{Project: p.Proposal().Project, Region: p.Proposal().Region})
	if err != nil {
		return gate.Outcome{}, err
	}
	defer src.Close()
	o, err := src.Observe(ctx, nil)
	if err != nil {
		return gate.Outcome{}, err
	}
	if err := os.MkdirAll(p.Target().To, 0o700); err != nil {
		return gate.Outcome{}, err
	}
	dir, err := os.MkdirTemp(p.Target().To, time.Now().UTC().Format("20060102-150405-"))
	if err != nil {
		return gate.Outcome{}, err
	}
	left, files := int64(fetchAll), 0
	for i, s := range o.Streams {
		if left <= 0 {
			break
		}
		in, err := s.Open(ctx)
		if err != nil {
			continue // it is gone, or not for this user: the others are fetched
		}
		n, err := copyTo(filepath.Join(dir, plainName(s.Name, i)), io.LimitReader(in, min(fetchEach, left)))
		in.Close()
		if err != nil {
			return gate.Outcome{Text: fmt.Sprintf("%d files were fetched to %s", files, dir)}, err
		}
		left -= n
		files++
	}
	if files == 0 {
		return gate.Outcome{}, fmt.Errorf("%s shows no log that could be fetched", p.Target().Path)
	}
	return gate.Outcome{Text: fmt.Sprintf("%d files, %d bytes, were fetched to %s", files, fetchAll-left, dir)}, nil
}

// plainName is a file's name that stays in its folder, whatever the source calls
// the stream.
func plainName(name string, i int) string {
	name = strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, name)
	return fmt.Sprintf("%02d-%s", i+1, strings.TrimLeft(name[max(0, len(name)-100):], "."))
}

func copyTo(path string, in io.Reader) (int64, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err := io.Copy(f, in)
	return n, errors.Join(err, f.Close())
}
