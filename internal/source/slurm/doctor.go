package slurm

import (
	"context"
	"errors"
	"strings"

	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
)

// doctor says whether a SLURM can be asked here.
func doctor(ctx context.Context) []source.Check {
	return source.Examine(ctx, source.Probe{Name: "slurm", Run: func(ctx context.Context) source.Check { return ping(ctx, shell.Local) }})
}

func ping(ctx context.Context, sh shell.Shell) source.Check {
	out, err := sh.Run(ctx, "scontrol", "ping")
	text := strings.Join(strings.Fields(string(out)), " ")
	var failed *shell.Failed
	switch {
	case errors.Is(err, shell.ErrNoProgram):
		return source.Check{State: source.CheckMissing, Seen: "scontrol is not in the PATH", Fix: "run trainmedic on the login node of the cluster"}
	case errors.As(err, &failed):
		if text == "" {
			said := strings.Split(strings.TrimSpace(failed.Stderr), "\n")
			text = said[len(said)-1]
		}
		return source.Check{State: source.CheckLimited, Seen: text, Fix: "check SLURM_CONF, and that slurmctld and munge run: scontrol ping"}
	case err != nil:
		return source.Check{State: source.CheckLimited, Seen: err.Error(), Fix: "scontrol ping"}
	}
	j := &job{id: "0", shell: sh}
	if _, err := j.account(ctx); err != nil {
		return source.Check{State: source.CheckLimited, Seen: text + "; no accounting: jobs that ended some minutes ago are not known", Fix: "sacct says why; a cluster without slurmdbd has none"}
	}
	return source.Check{State: source.CheckOK, Seen: text + ", and its accounting"}
}
