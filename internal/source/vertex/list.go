package vertex

import (
	"context"
	"slices"
	"time"
)

// listed is one job of a list.
type listed struct {
	name    string
	created time.Time
}

// list gives the jobs of the display name, newest first.
func (s *job) list(ctx context.Context) ([]listed, error) {
	var out []listed
	if s.collection == pipelineJobs {
		all, err := s.client.Pipelines(ctx, s.name.id)
		if err != nil {
			return nil, err
		}
		for _, p := range all {
			out = append(out, listed{p.GetName(), p.GetCreateTime().AsTime()})
		}
	} else {
		all, err := s.client.Jobs(ctx, s.name.id)
		if err != nil {
			return nil, err
		}
		for _, j := range all {
			out = append(out, listed{j.GetName(), j.GetCreateTime().AsTime()})
		}
	}
	slices.SortStableFunc(out, func(a, b listed) int { return b.created.Compare(a.created) })
	return out, nil
}
