// Package all is the list of the kinds of target.
package all

import (
	"context"

	"github.com/trainmedic/trainmedic/internal/remote"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/artifacts"
	"github.com/trainmedic/trainmedic/internal/source/file"
	"github.com/trainmedic/trainmedic/internal/source/mlflow"
	"github.com/trainmedic/trainmedic/internal/source/process"
	"github.com/trainmedic/trainmedic/internal/source/slurm"
	"github.com/trainmedic/trainmedic/internal/source/ssh"
	"github.com/trainmedic/trainmedic/internal/source/tensorboard"
	"github.com/trainmedic/trainmedic/internal/source/vertex"
	"github.com/trainmedic/trainmedic/internal/source/wandb"
)

// Kinds are all kinds of target; their order says who claims a bare target
// first.
func Kinds() source.Registry {
	dir := artifacts.Kind()
	log := file.Kind(dir)
	pool := &remote.Pool{}
	over := ssh.Kind(pool, artifacts.Over, dir)
	far := source.Remote{Dial: pool.Dial, Logs: over}
	return source.Registry{
		dir,
		vertex.Pipeline(dir),
		vertex.Training(dir),
		wandb.Kind(dir),
		over, // before log: it claims user@host:*.log
		log,
		process.PID(dir, far),
		process.Name(dir, far),
		slurm.Kind(log, dir, far),
		besides(tensorboard.Kind(), dir),
		besides(mlflow.Kind(), dir),
		file.Traceback(),
	}
}

// Start starts a run and gives its source, which is to be looked at until it ends.
func Start(ctx context.Context, l source.Launch, opt source.Options) (source.Started, error) {
	opt.Watch = true
	return process.Start(ctx, l, opt, artifacts.Kind())
}

// besides lets a kind that gives no logs of its own take the artifact directory
// that the user named beside it, logs and all.
func besides(k, dir *source.Kind) *source.Kind {
	open := k.Open
	k.Open = func(ctx context.Context, ref string, opt source.Options) (source.Source, error) {
		own, err := open(ctx, ref, opt)
		if err != nil || opt.Artifacts == "" {
			return own, err
		}
		beside, err := dir.Open(ctx, opt.Artifacts, opt)
		if err != nil {
			own.Close()
			return nil, err
		}
		return file.Beside(beside, own), nil
	}
	return k
}
