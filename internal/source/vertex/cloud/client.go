// Package cloud asks Vertex AI and Cloud Logging over their own gRPC clients:
// one method a call, each with a deadline. Clients are made when they are first
// needed. An error wraps a sentinel of package source, says what to run next,
// and holds no token.
package cloud

import (
	"context"
	"fmt"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	aiplatform "cloud.google.com/go/aiplatform/apiv1"
	pb "cloud.google.com/go/aiplatform/apiv1/aiplatformpb"
	logging "cloud.google.com/go/logging/apiv2"
	lpb "cloud.google.com/go/logging/apiv2/loggingpb"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/trainmedic/trainmedic/internal/source"
)

// EndpointEnv names the environment variable with the address (host:port, on
// loopback only, without TLS) of a server to ask in the place of Google's: for
// tests of the whole program.
const EndpointEnv = "TRAINMEDIC_VERTEX_ENDPOINT"

// Bounds of one call.
const (
	usualDeadline = 20 * time.Second
	attempts      = 3        // where the service is busy
	maxReply      = 64 << 20 // bytes of one page
)

// PageSize is the most log entries of one call.
const PageSize = 1000

// Client asks about the jobs of one region. It is safe for concurrent use.
type Client struct {
	Project, Region string
	// Patient says that a busy service is asked up to three times; a watch asks
	// again at its next look anyway.
	Patient bool
	// Deadline is how long one call may take, its repetitions included; 0: 20 s.
	Deadline time.Duration

	mu        sync.Mutex
	options   []option.ClientOption // nil until the first call
	pipelines *aiplatform.PipelineClient
	jobs      *aiplatform.JobClient
	logs      *logging.Client
}

// Parent is the resource that jobs lie under.
func (c *Client) Parent() string { return "projects/" + c.Project + "/locations/" + c.Region }

// Pipeline gets a pipeline job by its full name.
func (c *Client) Pipeline(ctx context.Context, name string) (*pb.PipelineJob, error) {
	api, err := c.pipelineAPI(ctx)
	if err != nil {
		return nil, err
	}
	return call(ctx, c, request{"get", name}, func(ctx context.Context) (*pb.PipelineJob, error) {
		return api.GetPipelineJob(ctx, &pb.GetPipelineJobRequest{Name: name}, c.retry())
	})
}

// Pipelines lists the newest pipeline jobs of a display name, newest first and
// without their tasks.
func (c *Client) Pipelines(ctx context.Context, display string) ([]*pb.PipelineJob, error) {
	api, err := c.pipelineAPI(ctx)
	if err != nil {
		return nil, err
	}
	return call(ctx, c, request{"list pipelineJobs of", c.Parent()}, func(ctx context.Context) ([]*pb.PipelineJob, error) {
		it := api.ListPipelineJobs(ctx, &pb.ListPipelineJobsRequest{
			Parent: c.Parent(), Filter: "display_name=" + Quote(display), OrderBy: "create_time desc",
			ReadMask: &fieldmaskpb.FieldMask{Paths: []string{"name", "display_name", "create_time", "state"}},
		}, c.retry())
		all, _, err := it.InternalFetch(10, "")
		return all, err
	})
}

// Job gets a custom job by its full name.
func (c *Client) Job(ctx context.Context, name string) (*pb.CustomJob, error) {
	api, err := c.jobAPI(ctx)
	if err != nil {
		return nil, err
	}
	return call(ctx, c, request{"get", name}, func(ctx context.Context) (*pb.CustomJob, error) {
		return api.GetCustomJob(ctx, &pb.GetCustomJobRequest{Name: name}, c.retry())
	})
}

// Jobs lists custom jobs of a display name, in no order: the API has none.
func (c *Client) Jobs(ctx context.Context, display string) ([]*pb.CustomJob, error) {
	api, err := c.jobAPI(ctx)
	if err != nil {
		return nil, err
	}
	return call(ctx, c, request{"list customJobs of", c.Parent()}, func(ctx context.Context) ([]*pb.CustomJob, error) {
		it := api.ListCustomJobs(ctx, &pb.ListCustomJobsRequest{
			Parent: c.Parent(), Filter: "display_name=" + Quote(display),
			ReadMask: &fieldmaskpb.FieldMask{Paths: []string{"name", "display_name", "create_time", "state"}},
		}, c.retry())
		all, _, err := it.InternalFetch(100, "")
		return all, err
	})
}

// Query is one page of log entries to ask for.
type Query struct {
	Filter string
	Newest bool   // newest first, else oldest first
	Size   int    // 0: PageSize
	Token  string // of the page, "" for the first
}

// Entries gets one page of log entries of the project, and the token of the next
// page, "" at the end.
func (c *Client) Entries(ctx context.Context, q Query) ([]*lpb.LogEntry, string, error) {
	api, err := c.logAPI(ctx)
	if err != nil {
		return nil, "", err
	}
	order, size := "timestamp asc", q.Size
	if q.Newest {
		order = "timestamp desc"
	}
	if size == 0 {
		size = PageSize
	}
	next := ""
	all, err := call(ctx, c, request{"read the log of", "projects/" + c.Project}, func(ctx context.Context) ([]*lpb.LogEntry, error) {
		it := api.ListLogEntries(ctx, &lpb.ListLogEntriesRequest{ResourceNames: []string{"projects/" + c.Project}, Filter: q.Filter, OrderBy: order}, c.retry())
		var all []*lpb.LogEntry
		all, next, err = it.InternalFetch(size, q.Token)
		return all, err
	})
	return all, next, err
}

// Close closes the connections.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var first error
	for _, err := range []error{closed(c.pipelines != nil, c.pipelines), closed(c.jobs != nil, c.jobs), closed(c.logs != nil, c.logs)} {
		if first == nil {
			first = err
		}
	}
	c.pipelines, c.jobs, c.logs = nil, nil, nil
	return first
}

func closed(made bool, api interface{ Close() error }) error {
	if !made {
		return nil
	}
	return api.Close()
}

func (c *Client) pipelineAPI(ctx context.Context) (*aiplatform.PipelineClient, error) {
	return made(ctx, c, &c.pipelines, func(opts []option.ClientOption) (*aiplatform.PipelineClient, error) {
		return aiplatform.NewPipelineClient(ctx, c.regional(opts)...)
	})
}

func (c *Client) jobAPI(ctx context.Context) (*aiplatform.JobClient, error) {
	return made(ctx, c, &c.jobs, func(opts []option.ClientOption) (*aiplatform.JobClient, error) {
		return aiplatform.NewJobClient(ctx, c.regional(opts)...)
	})
}

func (c *Client) logAPI(ctx context.Context) (*logging.Client, error) {
	return made(ctx, c, &c.logs, func(opts []option.ClientOption) (*logging.Client, error) {
		return logging.NewClient(ctx, opts...)
	})
}

// made makes a client once.
func made[T any](ctx context.Context, c *Client, at **T, make func([]option.ClientOption) (*T, error)) (*T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *at != nil {
		return *at, nil
	}
	if c.options == nil {
		opts, err := connect(ctx)
		if err != nil {
			return nil, err
		}
		c.options = opts
	}
	api, err := make(c.options)
	if err != nil {
		return nil, noClient(err)
	}
	*at = api
	return api, nil
}

// connect says how to reach the services, with credentials that are known to
// give a token.
func connect(ctx context.Context) ([]option.ClientOption, error) {
	size := option.WithGRPCDialOption(grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxReply)))
	if at := os.Getenv(EndpointEnv); at != "" {
		host, _, err := net.SplitHostPort(at)
		if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
			return nil, fmt.Errorf("vertex: %s=%q: want the address of this machine itself, such as 127.0.0.1:8080: %w", EndpointEnv, at, source.ErrBadTarget)
		}
		return []option.ClientOption{
			option.WithEndpoint(at), option.WithoutAuthentication(), size,
			option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())),
		}, nil
	}
	creds, err := credentialsOf(ctx)
	if err != nil {
		return nil, err
	}
	return []option.ClientOption{option.WithAuthCredentials(creds), size}, nil
}

// regional adds the address of the region to the options, unless a server for
// tests has its own.
func (c *Client) regional(opts []option.ClientOption) []option.ClientOption {
	if os.Getenv(EndpointEnv) != "" {
		return opts
	}
	return append(slices.Clip(opts), option.WithEndpoint(Host(c.Region)+":443"))
}

// Host is the host of Vertex AI in a region.
func Host(region string) string {
	universe := os.Getenv("GOOGLE_CLOUD_UNIVERSE_DOMAIN")
	if universe == "" {
		universe = "googleapis.com"
	}
	return region + "-aiplatform." + universe
}
