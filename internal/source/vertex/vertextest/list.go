package vertextest

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"

	pb "cloud.google.com/go/aiplatform/apiv1/aiplatformpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

var fullName = regexp.MustCompile(`^projects/[^/]+/locations/([^/]+)/([^/]+)/([^/]+)$`)

// keyOf is a full name without its project: a project is known by its number and
// its id.
func keyOf(name string) string {
	if m := fullName.FindStringSubmatch(name); m != nil {
		return m[1] + "/" + m[2] + "/" + m[3]
	}
	return name
}

func collectionOf(name string) string {
	if m := fullName.FindStringSubmatch(name); m != nil {
		return m[2]
	}
	return ""
}

// ListPipelineJobs implements the service; its view has no tasks.
func (s *Server) ListPipelineJobs(_ context.Context, r *pb.ListPipelineJobsRequest) (*pb.ListPipelineJobsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*pb.PipelineJob
	for _, p := range s.pipelines {
		all = append(all, proto.CloneOf(p))
	}
	for _, p := range all {
		p.JobDetail = nil
	}
	page, next, err := list(all, query{r.GetParent(), r.GetFilter(), r.GetOrderBy(), r.GetPageToken(), int(r.GetPageSize()), r.GetReadMask()})
	return &pb.ListPipelineJobsResponse{PipelineJobs: page, NextPageToken: next}, err
}

// ListCustomJobs implements the service; it has no order.
func (s *Server) ListCustomJobs(_ context.Context, r *pb.ListCustomJobsRequest) (*pb.ListCustomJobsResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*pb.CustomJob
	for _, j := range s.jobs {
		all = append(all, proto.CloneOf(j))
	}
	page, next, err := list(all, query{r.GetParent(), r.GetFilter(), "name", r.GetPageToken(), int(r.GetPageSize()), r.GetReadMask()})
	return &pb.ListCustomJobsResponse{CustomJobs: page, NextPageToken: next}, err
}

type query struct {
	parent, filter, order, token string
	size                         int
	mask                         *fieldmaskpb.FieldMask
}

// resource is what pipeline jobs and custom jobs have in common.
type resource interface {
	proto.Message
	GetName() string
	GetDisplayName() string
	GetCreateTime() *timestamppb.Timestamp
}

var byDisplayName = regexp.MustCompile(`^display_name="((?:[^"\\]|\\.)*)"$`)

func list[T resource](all []T, q query) ([]T, string, error) {
	m := byDisplayName.FindStringSubmatch(q.filter)
	if q.filter != "" && m == nil {
		return nil, "", status.Errorf(codes.InvalidArgument, "Provided filter is not valid: %s", q.filter)
	}
	_, region, _ := strings.Cut(q.parent, "/locations/")
	all = slices.DeleteFunc(all, func(r T) bool {
		return !strings.HasPrefix(keyOf(r.GetName()), region+"/") || m != nil && r.GetDisplayName() != unescape(m[1])
	})
	slices.SortFunc(all, func(a, b T) int {
		if q.order == "create_time desc" {
			return b.GetCreateTime().AsTime().Compare(a.GetCreateTime().AsTime())
		}
		return strings.Compare(a.GetName(), b.GetName())
	})
	from, _ := strconv.Atoi(q.token)
	from = min(from, len(all))
	size := q.size
	if size <= 0 || size > 100 {
		size = 100
	}
	page, next := all[from:], ""
	if len(page) > size {
		page, next = page[:size], strconv.Itoa(from+size)
	}
	for _, r := range page {
		prune(r.ProtoReflect(), q.mask.GetPaths())
	}
	return page, next, nil
}

func unescape(s string) string { return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(s) }

// prune clears what a field mask does not name; none names all.
func prune(m protoreflect.Message, paths []string) {
	if len(paths) == 0 {
		return
	}
	m.Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if !slices.Contains(paths, string(f.Name())) {
			m.Clear(f)
		}
		return true
	})
}
