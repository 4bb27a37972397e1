package slurm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
)

// patience is how long SLURM's programs may take: a busy controller is slow.
const patience = 20 * time.Second

// errForgotten says that the controller does not know the job (any more).
var errForgotten = errors.New("the controller does not know the job")

func (j *job) run(ctx context.Context, argv ...string) (string, error) {
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	out, err := j.shell.Run(short, argv...)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = fmt.Errorf("%s did not answer within %s", argv[0], patience)
	}
	return string(out), err
}

// control asks the controller.
func (j *job) control(ctx context.Context) ([]record, error) {
	out, err := j.run(ctx, "scontrol", "show", "job", j.id)
	var failed *shell.Failed
	if errors.As(err, &failed) && strings.Contains(failed.Stderr, "Invalid job id") {
		return nil, errForgotten
	}
	if err != nil {
		return nil, err
	}
	all := readControl(out)
	if len(all) == 0 {
		return nil, errForgotten
	}
	return all, nil
}

// columns are what is asked of the accounting; an older SLURM does not know the
// last two.
const columns = "JobID,JobName,State,ExitCode,DerivedExitCode,Elapsed,Timelimit,MaxRSS,ReqMem,NodeList,Start,End,Reason,WorkDir"

// account asks the accounting. errNoAccounting says that there is none.
func (j *job) account(ctx context.Context) ([]record, error) {
	out, err := j.run(ctx, "sacct", "-j", j.id, "-P", "--format="+columns+",StdOut,StdErr")
	var failed *shell.Failed
	if errors.As(err, &failed) && strings.Contains(failed.Stderr, "Invalid field") {
		out, err = j.run(ctx, "sacct", "-j", j.id, "-P", "--format="+columns)
	}
	if errors.As(err, &failed) && strings.Contains(failed.Stderr, "accounting storage is disabled") || errors.Is(err, shell.ErrNoProgram) {
		return nil, errNoAccounting
	}
	if err != nil {
		return nil, err
	}
	return readAccount(out), nil
}

var errNoAccounting = errors.New("SLURM keeps no accounting here")

// ask asks both: the controller knows a job until some minutes after its end, the
// accounting knows its steps and what has ended long ago.
func (j *job) ask(ctx context.Context, steps bool) (jobs, rows []record, err error) {
	jobs, err = j.control(ctx)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err == nil && !steps && !over[together(jobs)] {
		return jobs, nil, nil
	}
	rows, accErr := j.account(ctx)
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if err == nil {
		return jobs, rows, nil
	}
	for _, r := range rows {
		if !r.step() {
			jobs = append(jobs, r)
		}
	}
	if len(jobs) > 0 {
		return jobs, rows, nil
	}
	const elsewhere = "name the login node of the cluster (--slurm user@login:JOBID)"
	switch {
	case errors.Is(err, errForgotten) && accErr == nil:
		return nil, nil, fmt.Errorf("slurm: there is no job %s in the queue or the accounting; check the number with squeue --me or sacct: %w", j.id, source.ErrNotFound)
	case errors.Is(err, errForgotten) && errors.Is(accErr, errNoAccounting):
		return nil, nil, fmt.Errorf("slurm: the controller does not know job %s, and this cluster keeps no accounting of those that ended some minutes ago; name the job's log: %w", j.id, source.ErrNotFound)
	case errors.Is(err, errForgotten):
		return nil, nil, source.Unanswered("slurm: sacct", j.shell, accErr, "or name the job's log")
	}
	return nil, nil, source.Unanswered("slurm: scontrol", j.shell, err, elsewhere)
}
