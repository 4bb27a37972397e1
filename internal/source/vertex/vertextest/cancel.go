package vertextest

import (
	"context"

	pb "cloud.google.com/go/aiplatform/apiv1/aiplatformpb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"
)

// GetHyperparameterTuningJob implements the service.
func (s *Server) GetHyperparameterTuningJob(_ context.Context, r *pb.GetHyperparameterTuningJobRequest) (*pb.HyperparameterTuningJob, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return get(s.tunings, r.GetName())
}

// CancelCustomJob implements the service; one that has ended is not cancelled.
func (s *Server) CancelCustomJob(_ context.Context, r *pb.CancelCustomJobRequest) (*emptypb.Empty, error) {
	return cancel(s, s.jobs, r.GetName(), func(j *pb.CustomJob) bool { return ended(j.GetState()) }, func(j *pb.CustomJob) { j.State = pb.JobState_JOB_STATE_CANCELLING })
}

// CancelHyperparameterTuningJob implements the service.
func (s *Server) CancelHyperparameterTuningJob(_ context.Context, r *pb.CancelHyperparameterTuningJobRequest) (*emptypb.Empty, error) {
	return cancel(s, s.tunings, r.GetName(), func(j *pb.HyperparameterTuningJob) bool { return ended(j.GetState()) }, func(j *pb.HyperparameterTuningJob) { j.State = pb.JobState_JOB_STATE_CANCELLING })
}

// CancelPipelineJob implements the service.
func (s *Server) CancelPipelineJob(_ context.Context, r *pb.CancelPipelineJobRequest) (*emptypb.Empty, error) {
	over := func(j *pb.PipelineJob) bool {
		switch j.GetState() {
		case pb.PipelineState_PIPELINE_STATE_SUCCEEDED, pb.PipelineState_PIPELINE_STATE_FAILED, pb.PipelineState_PIPELINE_STATE_CANCELLED:
			return true
		}
		return false
	}
	return cancel(s, s.pipelines, r.GetName(), over, func(j *pb.PipelineJob) { j.State = pb.PipelineState_PIPELINE_STATE_CANCELLING })
}

func ended(s pb.JobState) bool {
	switch s {
	case pb.JobState_JOB_STATE_SUCCEEDED, pb.JobState_JOB_STATE_FAILED, pb.JobState_JOB_STATE_CANCELLED, pb.JobState_JOB_STATE_EXPIRED:
		return true
	}
	return false
}

func cancel[T interface {
	proto.Message
	comparable
}](s *Server, all map[string]T, name string, over func(T) bool, set func(T)) (*emptypb.Empty, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j, err := get(all, name)
	if err != nil {
		return nil, err
	}
	if over(j) {
		return nil, status.Errorf(codes.FailedPrecondition, "The job %s has ended and cannot be cancelled.", name)
	}
	next, ok := proto.Clone(j).(T)
	if !ok {
		return nil, status.Error(codes.Internal, "a job of another kind")
	}
	set(next)
	all[keyOf(name)] = next
	return &emptypb.Empty{}, nil
}
