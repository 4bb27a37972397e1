//go:build linux

package effect_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/vertex/cloud"
	"github.com/trainmedic/trainmedic/internal/source/vertex/vertextest"
)

const region = "projects/ml/locations/europe-west4/"

// cloudOf is a project with a job of each kind in a state.
func cloudOf(t *testing.T, state string) (*bench, *vertextest.Server) {
	t.Helper()
	s := vertextest.Start(t)
	t.Setenv(cloud.EndpointEnv, s.Addr)
	put(t, s, "customJobs/12", "JOB_STATE_"+state)
	put(t, s, "hyperparameterTuningJobs/13", "JOB_STATE_"+state)
	put(t, s, "pipelineJobs/train-1", "PIPELINE_STATE_"+state)
	return newBench(t, &effect.Effects{}), s
}

func put(t *testing.T, s *vertextest.Server, id, state string) {
	t.Helper()
	made := "2026-11-30T10:00:00Z"
	if err := s.Put(fmt.Sprintf(`{"name": %q, "displayName": "big run", "state": %q, "createTime": %q}`, region+id, state, made)); err != nil {
		t.Fatal(err)
	}
}

var jobsOfVertex = map[string]string{
	region + "customJobs/12":                                    "CancelCustomJob",
	region + "hyperparameterTuningJobs/13":                      "CancelHyperparameterTuningJob",
	"vertex-pipeline:" + region + "pipelineJobs/train-1":        "CancelPipelineJob",
	"vertex-training:" + region + "customJobs/12":               "CancelCustomJob",
	"vertex-training:" + region + "hyperparameterTuningJobs/13": "CancelHyperparameterTuningJob",
}

func TestAVertexJobIsCancelled(t *testing.T) {
	for target, method := range jobsOfVertex {
		t.Run(target, func(t *testing.T) {
			b, s := cloudOf(t, "RUNNING")
			p := gate.Proposal{Target: target, Action: gate.CancelVertex}
			r, _ := b.done(p, gate.Ask)
			text := strings.Join(r.Does, "\n")
			if r.State != gate.Done || !strings.Contains(r.Outcome, "it is CANCELLING now") || !strings.Contains(text, `"big run"`) || !strings.Contains(text, "now RUNNING") {
				t.Errorf("%+v", r)
			}
			if n := count(s.Calls(), method); n != 1 {
				t.Errorf("%s was called %d times", method, n)
			}
			b.refused(p, "done_already")
		})
	}
}

func count(calls []string, method string) (n int) {
	for _, c := range calls {
		if c == method {
			n++
		}
	}
	return n
}

func TestAVertexJobIsFoundByItsWatch(t *testing.T) {
	b, _ := cloudOf(t, "RUNNING")
	p := gate.Proposal{Target: "vertex-training:12", Project: "ml", Region: "europe-west4", Action: gate.CancelVertex}
	if r, _ := b.done(p, gate.Ask); r.State != gate.Done {
		t.Errorf("%+v", r)
	}
}

func TestAVertexJobThatIsNotCancelled(t *testing.T) {
	for _, state := range []string{"SUCCEEDED", "FAILED", "CANCELLED"} {
		b, _ := cloudOf(t, state)
		for target := range jobsOfVertex {
			b.refused(gate.Proposal{Target: target, Action: gate.CancelVertex}, "gone")
		}
	}
	b, s := cloudOf(t, "RUNNING")
	for _, bad := range []string{"", "12", "pid:12", region + "models/12", "vertex-training:", "vertex-training:projects/ml"} {
		b.refused(gate.Proposal{Target: bad, Action: gate.CancelVertex}, "bad_target")
	}
	if _, _, err := b.Propose(t.Context(), gate.Proposal{Target: region + "customJobs/99", Action: gate.CancelVertex}); err == nil || !strings.Contains(err.Error(), "NOT_FOUND") {
		t.Errorf("no such job: %v", err)
	}
	put(t, s, "customJobs/14", "JOB_STATE_RUNNING")
	p := gate.Proposal{Target: "vertex-training:big run", Project: "ml", Region: "europe-west4", Action: gate.CancelVertex}
	b.refused(p, "bad_target") // two have the name
}

func TestVertexRefusesACancel(t *testing.T) {
	for _, tc := range []struct {
		name string
		code codes.Code
		want gate.State
		says string
	}{
		{"no permission", codes.PermissionDenied, gate.Failed, "--role=roles/aiplatform.user"},
		{"it has just ended", codes.FailedPrecondition, gate.Failed, "it is RUNNING now"},
		{"no answer", codes.Unavailable, gate.Interrupted, "unknown outcome"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b, s := cloudOf(t, "RUNNING")
			s.Refuse(func(method string, _ int) error {
				if strings.HasPrefix(method, "Cancel") {
					return status.Error(tc.code, "no")
				}
				return nil
			})
			r, _ := b.done(gate.Proposal{Target: region + "customJobs/12", Action: gate.CancelVertex}, gate.Ask)
			if r.State != tc.want || !strings.Contains(r.Outcome, tc.says) {
				t.Errorf("%s: %s", r.State, r.Outcome)
			}
			if n := count(s.Calls(), "CancelCustomJob"); n != 1 {
				t.Errorf("it was asked for %d times", n)
			}
		})
	}
	b, s := cloudOf(t, "RUNNING")
	s.Refuse(func(method string, _ int) error { return status.Error(codes.PermissionDenied, "no") })
	_, _, err := b.Propose(t.Context(), gate.Proposal{Target: region + "customJobs/12", Action: gate.CancelVertex})
	if a := (*source.Advice)(nil); !errors.As(err, &a) || !strings.Contains(a.Ask, "roles/aiplatform.viewer") {
		t.Errorf("who may not look: %v", err)
	}
	if slices.Contains(s.Calls(), "CancelCustomJob") {
		t.Error("it was cancelled unseen")
	}
}
