package cloud

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	pb "cloud.google.com/go/aiplatform/apiv1/aiplatformpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/trainmedic/trainmedic/internal/source"
)

// verbCancel is the verb of a call that cancels: it needs a role of its own.
const verbCancel = "cancel"

// Standing is how a job stands.
type Standing struct {
	Name    string // whole
	Display string
	State   string // RUNNING, SUCCEEDED …
	Created time.Time
}

// errCollection is a name of something that cannot be cancelled here.
var errCollection = fmt.Errorf("vertex: it is no custom job, hyperparameter tuning job or pipeline job: %w", source.ErrBadTarget)

// standing is what the three kinds of jobs have in common.
type standing interface {
	GetName() string
	GetDisplayName() string
	GetCreateTime() *timestamppb.Timestamp
}

// Stands looks at a job by its full name: a custom job, a hyperparameter tuning
// job or a pipeline job.
func (c *Client) Stands(ctx context.Context, name string) (Standing, error) {
	var j standing
	var state string
	switch collectionOf(name) {
	case "pipelineJobs":
		p, err := c.Pipeline(ctx, name)
		if err != nil {
			return Standing{}, err
		}
		j, state = p, p.GetState().String()
	case "customJobs":
		p, err := c.Job(ctx, name)
		if err != nil {
			return Standing{}, err
		}
		j, state = p, p.GetState().String()
	case "hyperparameterTuningJobs":
		api, err := c.jobAPI(ctx)
		if err != nil {
			return Standing{}, err
		}
		p, err := call(ctx, c, request{"get", name}, func(ctx context.Context) (*pb.HyperparameterTuningJob, error) {
			return api.GetHyperparameterTuningJob(ctx, &pb.GetHyperparameterTuningJobRequest{Name: name}, c.retry())
		})
		if err != nil {
			return Standing{}, err
		}
		j, state = p, p.GetState().String()
	default:
		return Standing{}, errCollection
	}
	return Standing{j.GetName(), j.GetDisplayName(), strings.TrimPrefix(strings.TrimPrefix(state, "PIPELINE_STATE_"), "JOB_STATE_"), j.GetCreateTime().AsTime()}, nil
}

// Cancel asks for a job to be cancelled, once: it is never asked again by itself.
// Only the gate may. ErrSent says that nobody knows whether it was heard.
func (c *Client) Cancel(ctx context.Context, name string) error {
	jobs, err := c.jobAPI(ctx)
	if err != nil {
		return err
	}
	pipelines, err := c.pipelineAPI(ctx)
	if err != nil {
		return err
	}
	once := &Client{Project: c.Project, Region: c.Region, Deadline: c.Deadline}
	_, err = call(ctx, once, request{verbCancel, name}, func(ctx context.Context) (struct{}, error) {
		switch collectionOf(name) {
		case "pipelineJobs":
			return struct{}{}, pipelines.CancelPipelineJob(ctx, &pb.CancelPipelineJobRequest{Name: name}, once.retry())
		case "customJobs":
			return struct{}{}, jobs.CancelCustomJob(ctx, &pb.CancelCustomJobRequest{Name: name}, once.retry())
		case "hyperparameterTuningJobs":
			return struct{}{}, jobs.CancelHyperparameterTuningJob(ctx, &pb.CancelHyperparameterTuningJobRequest{Name: name}, once.retry())
		}
		return struct{}{}, errCollection
	})
	if errors.Is(err, source.ErrUnreachable) || ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrSent, err)
	}
	return err
}

// ErrSent says that a request was sent and not answered.
var ErrSent = errors.New("it was asked for and not answered")

// collectionOf is the collection of a full name, "" if it is none.
func collectionOf(name string) string {
	f := strings.Split(name, "/")
	if len(f) != 6 || f[0] != "projects" || f[2] != "locations" {
		return ""
	}
	return f[4]
}
