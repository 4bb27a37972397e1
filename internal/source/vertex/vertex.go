// Package vertex is the source of pipeline jobs and custom jobs of Vertex AI:
// their state, the jobs behind failed tasks, and their lines in Cloud Logging.
// Resources are read by the readers of exported files, so that a job is judged
// alike whether it is asked for or was saved. One look makes few calls; what
// could not be asked is a gap, and a look after it goes on from there.
package vertex

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
	"github.com/trainmedic/trainmedic/internal/source/vertex/cloud"
	"github.com/trainmedic/trainmedic/internal/source/vertex/gcloud"
)

// usualRegion is the region of the skills.
const usualRegion = "us-central1"

// Pipeline is the source of pipeline jobs; beside is the kind that opens the
// directory that Options.Artifacts names, nil if there is no such kind.
func Pipeline(beside *source.Kind) *source.Kind {
	return &source.Kind{
		Scheme: "vertex-pipeline", Type: "vertex-pipeline", Flag: "vertex-pipeline", Example: "--vertex-pipeline JOB",
		Doc:   "a Vertex AI pipeline job by id, display name, full name or console URL",
		Claim: claims(pipelineJobs),
		Open:  opener(pipelineJobs, beside),
	}
}

// Training is the source of custom jobs; see Pipeline.
func Training(beside *source.Kind) *source.Kind {
	return &source.Kind{
		Scheme: "vertex-training", Type: "vertex-training", Flag: "vertex-training", Example: "--vertex-training JOB",
		Doc:   "a Vertex AI custom job, named alike",
		Claim: claims(customJobs),
		Open:  opener(customJobs, beside),
	}
}

// opener opens the jobs of a collection.
func opener(collection string, beside *source.Kind) func(context.Context, string, source.Options) (source.Source, error) {
	return func(ctx context.Context, ref string, opt source.Options) (source.Source, error) {
		s, err := open(ref, opt, collection)
		if err != nil || opt.Artifacts == "" || beside == nil {
			return s, err
		}
		dir, err := beside.Open(ctx, opt.Artifacts, opt)
		if err != nil {
			return nil, err
		}
		return file.Beside(s, dir), nil
	}
}

func open(ref string, opt source.Options, collection string) (source.Source, error) {
	n, err := parse(ref)
	if err == nil {
		err = n.fits(collection)
	}
	if err != nil {
		return nil, err
	}
	return openNamed(n, opt, collection)
}

func openNamed(n name, opt source.Options, collection string) (*job, error) {
	if other(n.project, opt.Project) || n.region != "" && opt.Region != "" && n.region != opt.Region {
		return nil, &source.Advice{
			Err: fmt.Errorf("vertex: the name is of project %s in %s, the flags say %s %s: %w", n.project, cmp.Or(n.region, "no region"), opt.Project, opt.Region, source.ErrBadTarget),
			Ask: "Leave --project and --region out: the name has both. Or give the bare id with them.",
		}
	}
	env := gcloud.Env{}
	c := &cloud.Client{
		Project: cmp.Or(n.project, opt.Project, env.Project()), Region: cmp.Or(n.region, opt.Region, env.Region(), usualRegion), Patient: true,
	}
	if c.Project == "" {
		return nil, &source.Advice{
			Err: fmt.Errorf("vertex: no project: %w", source.ErrBadTarget),
			Ask: "Give --project PROJECT, or set it once: gcloud config set project PROJECT",
		}
	}
	s := &job{client: c, collection: collection, name: n, opt: opt, labels: map[string]string{}}
	if n.collection != "" || n.mayBeID(collection) {
		s.resource = c.Parent() + "/" + collection + "/" + n.id
	}
	return s, nil
}

// other reports whether two projects differ; a number and an id of one project
// cannot be told from those of two.
func other(a, b string) bool {
	return a != "" && b != "" && a != b && digits.MatchString(a) == digits.MatchString(b)
}

// job is one pipeline job or custom job.
type job struct {
	client     *cloud.Client
	collection string
	name       name
	opt        source.Options
	resource   string            // its full name, "" until it was looked up by its display name
	found      []run.Gap         // what was chosen among several of that name
	labels     map[string]string // job id -> folder of its streams
}

// Close implements source.Source.
func (s *job) Close() error { return s.client.Close() }

// Observe implements source.Source.
func (s *job) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	if err := ctx.Err(); err != nil {
		return run.Observation{}, err
	}
	if len(since) > 0 {
		s.client.Patient = false
	}
	l := newLook(s, since)
	read := l.customJob
	if s.collection == pipelineJobs {
		read = l.pipelineJob
	}
	if err := s.find(ctx, read); err != nil {
		return l.obs, err
	}
	l.obs.Gaps = append(l.obs.Gaps, s.found...)
	if err := l.readLogs(ctx); err != nil {
		return l.obs, err
	}
	source.Once(&l.obs, since)
	return l.obs, nil
}

// find reads the resource: by its name, or, where no job has the ref for its id,
// the newest of that display name.
func (s *job) find(ctx context.Context, read func(context.Context) error) error {
	if s.resource != "" {
		err := read(ctx)
		if err == nil || s.name.collection != "" || !errors.Is(err, source.ErrNotFound) {
			return err
		}
		if missing := s.named(ctx); missing != nil {
			return missing
		}
		return read(ctx)
	}
	if err := s.named(ctx); err != nil {
		return err
	}
	return read(ctx)
}

// named finds the job by its display name.
func (s *job) named(ctx context.Context) error {
	all, err := s.list(ctx)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return &source.Advice{
			Err: fmt.Errorf("vertex: no %s has the id or the display name %q in project %s, region %s: %w", s.collection[:len(s.collection)-1], s.name.id, s.client.Project, s.client.Region, source.ErrNotFound),
			Ask: fmt.Sprintf("Check the spelling, --project and --region: a job is found only in its own region. To list them: %s", s.client.List(s.collection)),
		}
	}
	s.resource = all[0].name
	if len(all) > 1 {
		s.found = []run.Gap{{
			What: fmt.Sprintf("the other jobs named %q", s.name.id),
			Why:  fmt.Sprintf("%d jobs have this display name; the newest was taken, %s of %s", len(all), all[0].name, all[0].created.UTC().Format("2006-01-02 15:04")),
			Ask:  "the id of the job, if another one is meant",
		}}
	}
	return nil
}
