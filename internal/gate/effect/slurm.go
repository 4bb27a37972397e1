package effect

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect/far"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
)

// slurmJob is a job, or one task of an array.
var slurmJob = regexp.MustCompile(`^(\d{1,12}(?:_\d{1,9})?)$`)

const askWithin = 30 * time.Second

// over are the states in which there is nothing left to cancel.
var over = map[string]bool{
	"COMPLETED": true, "CANCELLED": true, "FAILED": true, "TIMEOUT": true, "NODE_FAIL": true, "OUT_OF_MEMORY": true, "BOOT_FAIL": true, "DEADLINE": true,
}

// cluster is where SLURM's programs are. ask only looks, do acts once.
type cluster struct {
	ask, do func(ctx context.Context, argv ...string) ([]byte, error)
	close   func()
}

// cluster is this machine, or a login node; its identity goes into a plan.
func (e *Effects) cluster(ctx context.Context, host string) (cluster, []string, error) {
	if host == "" {
		return cluster{shell.Local.Run, shell.Local.Run, func() {}}, nil, nil
	}
	h, err := far.On(&e.hosts, host)
	if err != nil {
		return cluster{}, nil, err
	}
	id, err := h.Identity(ctx)
	if err != nil {
		h.Close()
		return cluster{}, nil, err
	}
	return cluster{h.Ask, h.Run, h.Close}, id, nil
}

// resolveJob asks the controller what the job is. Job numbers are used again: the
// time of its submission belongs to its identity.
func (e *Effects) resolveJob(ctx context.Context, p gate.Proposal) (gate.Resolved, error) {
	host, id := source.Split(strings.TrimPrefix(p.Target, "slurm:"))
	m := slurmJob.FindStringSubmatch(id)
	if m == nil {
		return gate.Resolved{}, cannot("bad_target", "%s wants a target slurm:JOBID, or slurm:user@login:JOBID", p.Action)
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	c, who, err := e.cluster(ctx, host)
	if err != nil {
		return gate.Resolved{}, err
	}
	defer c.close()
	out, err := c.ask(ctx, "scontrol", "show", "job", "-o", m[1])
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
		Host: host, Job: m[1], Lineage: host + " " + m[1] + " " + job["SubmitTime"],
		Prints: append([]string{job["UserId"], job["JobName"], job["SubmitTime"], job["Command"]}, who...),
	}}
	verb, program := "cancel", "scancel "
	if p.Action == gate.RequeueSLURM {
		verb, program = "put back into the queue", "scontrol requeue "
	}
	r.Does = []string{
		fmt.Sprintf("%s SLURM job %s%s, %q of %s, now %s:", verb, m[1], on(host), job["JobName"], job["UserId"], run.Name(state)),
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
	t := p.Target()
	c, _, err := e.cluster(ctx, t.Host)
	if err != nil {
		return gate.Outcome{}, err
	}
	defer c.close()
	argv := []string{"scancel", t.Job}
	if p.Action() == gate.RequeueSLURM {
		argv = []string{"scontrol", "requeue", t.Job}
	}
	now := func() string {
		out, err := c.ask(ctx, "scontrol", "show", "job", "-o", t.Job)
		if state := jobFields(string(out))["JobState"]; err == nil && state != "" {
			return "; the job is " + state + " now"
		}
		return "; how the job stands now cannot be seen"
	}
	if _, err := c.do(ctx, argv...); errors.Is(err, gate.ErrUnknown) {
		return gate.Outcome{}, fmt.Errorf("%w%s", err, now())
	} else if err != nil {
		return gate.Outcome{}, err
	}
	return gate.Outcome{Text: "done: " + strings.Join(argv, " ") + on(t.Host) + now()}, nil
}
