package effect

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
)

// slurmJob is a job, or one task of an array.
var slurmJob = regexp.MustCompile(`^(?:slurm:)?(\d{1,12}(?:_\d{1,9})?)$`)

const askWithin = 30 * time.Second

// over are the states in which there is nothing left to cancel.
var over = map[string]bool{
	"COMPLETED": true, "CANCELLED": true, "FAILED": true, "TIMEOUT": true, "NODE_FAIL": true, "OUT_OF_MEMORY": true, "BOOT_FAIL": true, "DEADLINE": true,
}

func (e *Effects) where() shell.Shell {
	if e.Shell == nil {
		return shell.Local
	}
	return e.Shell
}

// resolveJob asks the controller what the job is. Job numbers are used again: the
// time of its submission belongs to its identity.
func (e *Effects) resolveJob(ctx context.Context, p gate.Proposal) (gate.Resolved, error) {
	m := slurmJob.FindStringSubmatch(p.Target)
	if m == nil {
		return gate.Resolved{}, cannot("bad_target", "%s wants a target slurm:JOBID", p.Action)
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	out, err := e.where().Run(ctx, "scontrol", "show", "job", "-o", m[1])
	if err != nil {
		return gate.Resolved{}, fmt.Errorf("effect: the job cannot be looked at: %w", err)
	}
	job := jobFields(string(out))
	if job["JobId"] == "" || strings.Count(strings.TrimSpace(string(out)), "\n") > 0 {
		return gate.Resolved{}, cannot("bad_target", "SLURM shows no one job %s", m[1])
	}
	state := job["JobState"]
	if p.Action == gate.CancelSLURM && over[state] {
		return gate.Resolved{}, cannot("gone", "job %s is %s already", m[1], state)
	}
	r := gate.Resolved{Target: gate.Target{
		Host: e.where().Host(), Job: m[1], Lineage: m[1] + " " + job["SubmitTime"],
		Prints: []string{job["UserId"], job["JobName"], job["SubmitTime"], job["Command"]},
	}}
	verb, program := "cancel", "scancel "
	if p.Action == gate.RequeueSLURM {
		verb, program = "put back into the queue", "scontrol requeue "
	}
	r.Does = []string{
		fmt.Sprintf("%s SLURM job %s, %q of %s, now %s:", verb, m[1], job["JobName"], job["UserId"], run.Name(state)),
		"  " + program + m[1],
		"it was submitted at " + run.Name(job["SubmitTime"]) + " with " + run.Name(job["Command"]),
	}
	return r, nil
}

// jobFields reads the one line of scontrol show job -o. A value may hold blanks;
// a name is a word before "=".
func jobFields(line string) map[string]string {
	out := map[string]string{}
	last := ""
	for f := range strings.FieldsSeq(line) {
		name, value, ok := strings.Cut(f, "=")
		if !ok || name == "" || strings.ContainsAny(name, "/.,:") {
			if last != "" {
				out[last] += " " + f
			}
			continue
		}
		if _, had := out[name]; !had {
			out[name], last = value, name
		}
	}
	return out
}

// job cancels or requeues the job of the permit, and says what the controller
// shows then.
func (e *Effects) job(ctx context.Context, p gate.Permit) (gate.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	argv := []string{"scancel", p.Target().Job}
	if p.Action() == gate.RequeueSLURM {
		argv = []string{"scontrol", "requeue", p.Target().Job}
	}
	if _, err := e.where().Run(ctx, argv...); err != nil {
		return gate.Outcome{}, err
	}
	said := "done: " + strings.Join(argv, " ")
	if out, err := e.where().Run(ctx, "scontrol", "show", "job", "-o", p.Target().Job); err == nil {
		said += "; the job is " + jobFields(string(out))["JobState"] + " now"
	}
	return gate.Outcome{Text: said}, nil
}
