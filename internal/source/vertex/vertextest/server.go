// Package vertextest is a server for tests that speaks the real gRPC services of
// Vertex AI and Cloud Logging, over the resources and log entries that a test
// gives it as JSON: with pages, field masks, orders, filters, errors and slow
// answers. It counts calls.
package vertextest

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	pb "cloud.google.com/go/aiplatform/apiv1/aiplatformpb"
	lpb "cloud.google.com/go/logging/apiv2/loggingpb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// Server is the state of a project; its methods may be called while it serves.
type Server struct {
	Addr string // host:port

	pb.UnimplementedPipelineServiceServer
	pb.UnimplementedJobServiceServer
	lpb.UnimplementedLoggingServiceV2Server

	mu        sync.Mutex
	pipelines map[string]*pb.PipelineJob
	jobs      map[string]*pb.CustomJob
	tunings   map[string]*pb.HyperparameterTuningJob
	log       Log
	stages    []func(*Server)
	gets      int
	calls     []string
	refuse    func(method string, n int) error
}

// Log is a log in the order of time. It may be made up while it is read.
type Log interface {
	Len() int
	Time(i int) time.Time
	Entry(i int) *lpb.LogEntry
}

// Start serves until the test ends.
func Start(t testing.TB) *Server {
	t.Helper()
	s, stop, err := Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return s
}

// Listen serves until stop is called.
func Listen() (s *Server, stop func(), err error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("vertextest: %w", err)
	}
	s = &Server{Addr: l.Addr().String(), pipelines: map[string]*pb.PipelineJob{}, jobs: map[string]*pb.CustomJob{}, tunings: map[string]*pb.HyperparameterTuningJob{}, log: entries(nil)}
	g := grpc.NewServer(grpc.UnaryInterceptor(s.count))
	pb.RegisterPipelineServiceServer(g, s)
	pb.RegisterJobServiceServer(g, s)
	lpb.RegisterLoggingServiceV2Server(g, s)
	go g.Serve(l) //nolint:errcheck // it ends with Stop
	return s, g.Stop, nil
}

// count notes a call, and refuses it where the test says so.
func (s *Server) count(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	_, hasDeadline := ctx.Deadline()
	if !hasDeadline {
		return nil, status.Errorf(codes.Internal, "a call without a deadline: %s", info.FullMethod)
	}
	method := info.FullMethod[slices.Index([]byte(info.FullMethod[1:]), '/')+2:]
	s.mu.Lock()
	s.calls = append(s.calls, method)
	refuse, n := s.refuse, len(s.calls)
	s.mu.Unlock()
	if refuse != nil {
		if err := refuse(method, n); err != nil {
			return nil, err
		}
	}
	return next(ctx, req)
}

// Refuse lets f decide about each call: of which method, and the how manyeth of
// all, counted from 1. An error is the answer. It may wait, too.
func (s *Server) Refuse(f func(method string, n int) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// Calls are the methods that were called since the last Calls.
func (s *Server) Calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.calls
	s.calls = nil
	return out
}

// Put adds resources, each one JSON of a PipelineJob, CustomJob or
// HyperparameterTuningJob with its name;
// one of the same name takes the place of the older.
func (s *Server) Put(resources ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.put(resources...)
}

func (s *Server) put(resources ...string) error {
	loose := protojson.UnmarshalOptions{DiscardUnknown: true}
	for _, text := range resources {
		p, j, h := &pb.PipelineJob{}, &pb.CustomJob{}, &pb.HyperparameterTuningJob{}
		pErr := loose.Unmarshal([]byte(text), p)
		switch {
		case pErr == nil && collectionOf(p.GetName()) == "pipelineJobs":
			s.pipelines[keyOf(p.GetName())] = p
		case loose.Unmarshal([]byte(text), j) == nil && collectionOf(j.GetName()) == "customJobs":
			s.jobs[keyOf(j.GetName())] = j
		case loose.Unmarshal([]byte(text), h) == nil && collectionOf(h.GetName()) == "hyperparameterTuningJobs":
			s.tunings[keyOf(h.GetName())] = h
		default:
			return fmt.Errorf("vertextest: no job with a full name: %w: %.100s", pErr, text)
		}
	}
	return nil
}

// Stages are what changes at each look at a job: before the n-th Get of a
// pipeline, or of a custom job where there is no pipeline, the n-th is called.
func (s *Server) Stages(stages ...func(*Server)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stages, s.gets = stages, 0
}

// step lets a look's stage happen.
func (s *Server) step() {
	s.mu.Lock()
	var f func(*Server)
	if s.gets < len(s.stages) {
		f = s.stages[s.gets]
		s.gets++
	}
	s.mu.Unlock()
	if f != nil {
		f(s)
	}
}

// GetPipelineJob implements the service.
func (s *Server) GetPipelineJob(_ context.Context, r *pb.GetPipelineJobRequest) (*pb.PipelineJob, error) {
	s.step()
	s.mu.Lock()
	defer s.mu.Unlock()
	return get(s.pipelines, r.GetName())
}

// GetCustomJob implements the service.
func (s *Server) GetCustomJob(_ context.Context, r *pb.GetCustomJobRequest) (*pb.CustomJob, error) {
	s.mu.Lock()
	alone := len(s.pipelines) == 0
	s.mu.Unlock()
	if alone {
		s.step()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return get(s.jobs, r.GetName())
}

func get[T proto.Message](all map[string]T, name string) (T, error) {
	if r, ok := all[keyOf(name)]; ok {
		return r, nil
	}
	var none T
	return none, status.Errorf(codes.NotFound, "The %s resource is not found: %s", collectionOf(name), name)
}
