package effect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/vertex"
	"github.com/trainmedic/trainmedic/internal/source/vertex/cloud"
)

// endedJob are the states of a job of Vertex AI in which there is nothing left to
// cancel.
var endedJob = map[string]bool{"SUCCEEDED": true, "FAILED": true, "CANCELLED": true, "EXPIRED": true, "PARTIALLY_SUCCEEDED": true}

// resolveVertex looks at the job. Its full name and when it was made are what it is
// known by.
func (e *Effects) resolveVertex(ctx context.Context, p gate.Proposal) (gate.Resolved, error) {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	c, j, err := vertex.Find(ctx, p.Target, source.Options{Project: p.Project, Region: p.Region})
	if errors.Is(err, source.ErrBadTarget) {
		return gate.Resolved{}, cannot("bad_target", "%v", err)
	}
	if err != nil {
		return gate.Resolved{}, err
	}
	defer c.Close() //nolint:errcheck // it was only asked
	switch {
	case endedJob[j.State]:
		return gate.Resolved{}, cannot("gone", "job %s is %s already: there is nothing left to cancel", j.Name, j.State)
	case j.State == "CANCELLING":
		return gate.Resolved{}, cannot("done_already", "job %s is being cancelled already", j.Name)
	}
	made := j.Created.UTC().Format(time.RFC3339)
	return gate.Resolved{
		Target: gate.Target{Job: j.Name, Prints: []string{j.Display, made}, Lineage: j.Name},
		Does: []string{
			fmt.Sprintf("cancel the Vertex AI job %q, made at %s, now %s:", j.Display, made, j.State),
			"  " + j.Name,
			"what it has written stays; it cannot be gone on with",
		},
	}, nil
}

// cancelVertex asks for the job of the permit to be cancelled, and says how it
// stands then: Vertex takes its time.
func (e *Effects) cancelVertex(ctx context.Context, p gate.Permit) (gate.Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*askWithin)
	defer cancel()
	name := p.Target().Job
	c, _, err := vertex.Find(ctx, name, source.Options{})
	if err != nil {
		return gate.Outcome{}, err
	}
	defer c.Close() //nolint:errcheck // the answer is there
	err = c.Cancel(ctx, name)
	now := "; how it stands now cannot be seen"
	if j, seen := c.Stands(ctx, name); seen == nil {
		now = "; it is " + j.State + " now"
		if errors.Is(err, cloud.ErrSent) && (j.State == "CANCELLING" || j.State == "CANCELLED") {
			err = nil
		}
	}
	switch {
	case errors.Is(err, cloud.ErrSent):
		return gate.Outcome{}, fmt.Errorf("%w: %w%s", gate.ErrUnknown, err, now)
	case err != nil:
		return gate.Outcome{}, fmt.Errorf("%w%s", said(err), now)
	}
	return gate.Outcome{Text: "asked to cancel " + name + now}, nil
}

// said is an error with what it advises to do.
func said(err error) error {
	if a, ok := errors.AsType[*source.Advice](err); ok {
		return fmt.Errorf("%w. %s", err, a.Ask)
	}
	return err
}
