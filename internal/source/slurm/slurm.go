// Package slurm is the source of SLURM jobs: their state, limits and steps, as
// scontrol and sacct tell them here or over a shell, and the logs that they
// write, followed as any other log. It only looks: a job is never changed.
package slurm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
)

// Kind is the source of SLURM jobs. logs opens a local log, remote reaches the
// login node that a ref names, beside opens the directory that Options.Artifacts
// names.
func Kind(logs, beside *source.Kind, remote source.Remote) *source.Kind {
	return &source.Kind{
		Scheme: "slurm", Type: "slurm", Flag: "slurm", Example: "--slurm 4711 | 4711_3",
		Doc:    "a SLURM job, its steps and its logs",
		Doctor: doctor,
		Open: func(ctx context.Context, ref string, opt source.Options) (source.Source, error) {
			host, id := source.Split(ref)
			m := jobID.FindStringSubmatch(strings.TrimSpace(id))
			if m == nil {
				return nil, fmt.Errorf("slurm: %q is no job id; give its number, or NUMBER_TASK of an array: %w", id, source.ErrBadTarget)
			}
			sh, err := remote.Shell(ctx, host)
			if err != nil {
				return nil, err
			}
			j := &job{id: m[1], shell: sh, opt: opt, open: logs.Open, logs: map[string]source.Source{}}
			if host != "" {
				j.open = func(ctx context.Context, path string, opt source.Options) (source.Source, error) {
					return remote.Logs.Open(ctx, host+":"+path, opt)
				}
			}
			if opt.Artifacts == "" || beside == nil {
				return j, nil
			}
			dir, err := beside.Open(ctx, opt.Artifacts, opt)
			if err != nil {
				return nil, err
			}
			return file.Beside(j, dir), nil
		},
	}
}

// jobID is a job, a task of an array, or a component of a heterogeneous job; a
// step means its job.
var jobID = regexp.MustCompile(`^(\d{1,10}(?:[_+]\d{1,10})?)(?:_\[[\d,%-]+\])?(?:\.\w+)?$`)

type job struct {
	id    string
	shell shell.Shell
	opt   source.Options
	open  func(ctx context.Context, path string, opt source.Options) (source.Source, error)
	logs  map[string]source.Source // by path
}

// Keys of the cursor; the cursors of the logs are under the path of each.
const (
	keyState    = "state"    // what was told of the job
	keyText     = "text"     // bytes and lines of the stream of states
	keySteps    = "steps"    // what was told of the steps
	keyDeadline = "deadline" // of which attempt, and when it is
	keyPaths    = "paths"    // of the logs, one a line
)

// Observe implements source.Source.
func (j *job) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	l := &look{job: j, since: since, obs: run.Observation{At: time.Now(), Next: run.Cursor{}}}
	if err := ctx.Err(); err != nil {
		return l.obs, err
	}
	jobs, rows, err := j.ask(ctx, since == nil)
	if err != nil {
		if since == nil || !errors.Is(err, source.ErrNotFound) {
			return l.obs, err
		}
		l.forgotten(err)
	} else {
		l.tell(jobs, rows)
	}
	if err := l.follow(ctx, jobs); err != nil {
		return l.obs, err
	}
	source.Once(&l.obs, since)
	return l.obs, nil
}

// Close implements source.Source.
func (j *job) Close() error {
	var errs []error
	for _, s := range j.logs {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}
