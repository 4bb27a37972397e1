package vertex

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/vertex/cloud"
)

// tuningJobs are found by their full name only: nothing here looks into them.
const tuningJobs = "hyperparameterTuningJobs"

// Find finds the one job that a target means (vertex-pipeline:, vertex-training:,
// a full name, a console URL), and the client that reaches it, which the caller
// closes. A display name that several jobs have is an error: one of them may be
// acted upon.
func Find(ctx context.Context, target string, opt source.Options) (*cloud.Client, cloud.Standing, error) {
	collection, ref := customJobs, target
	if rest, ok := strings.CutPrefix(target, "vertex-pipeline:"); ok {
		collection, ref = pipelineJobs, rest
	} else if rest, ok := strings.CutPrefix(target, "vertex-training:"); ok {
		ref = rest
	} else if n, err := parse(target); err != nil || n.collection == "" {
		return nil, cloud.Standing{}, fmt.Errorf("vertex: %.100q: name the job as vertex-pipeline:ID, vertex-training:ID or projects/PROJECT/locations/REGION/COLLECTION/ID: %w", target, source.ErrBadTarget)
	}
	n, err := parse(ref)
	if err != nil {
		return nil, cloud.Standing{}, err
	}
	tuning := n.collection == tuningJobs
	switch {
	case tuning:
		n.collection = collection // it is opened as any other is, by its project and region
	case n.collection == pipelineJobs:
		collection = n.collection
	}
	if err := n.fits(collection); err != nil {
		return nil, cloud.Standing{}, err
	}
	s, err := openNamed(n, opt, collection)
	if err != nil {
		return nil, cloud.Standing{}, err
	}
	if tuning {
		s.resource = s.client.Parent() + "/" + tuningJobs + "/" + n.id
	}
	j, err := s.stands(ctx)
	if err == nil && len(s.found) > 0 {
		err = fmt.Errorf("vertex: %s: name the one that is meant by its id: %w", s.found[0].Why, source.ErrBadTarget)
	}
	if err != nil {
		return nil, cloud.Standing{}, errors.Join(err, s.Close())
	}
	return s.client, j, nil
}

func (s *job) stands(ctx context.Context) (j cloud.Standing, err error) {
	err = s.find(ctx, func(ctx context.Context) error {
		j, err = s.client.Stands(ctx, s.resource)
		return err
	})
	return j, err
}
