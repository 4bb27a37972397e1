package tools

import (
	"context"
	"errors"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/redact"
)

// Approval is the result of await_approval.
type Approval struct {
	State      string `json:"state" jsonschema:"enum=pending,enum=approved,enum=denied,enum=expired,enum=used"`
	ApprovalID string `json:"approval_id"`
	Digest     string `json:"digest"`
	ExpiresAt  string `json:"expires_at"`
	Result     string `json:"result"`
}

func awaitApproval() *tool {
	return &tool{
		name: "await_approval", title: "Wait for a decision", result: "await_approval", bare: true,
		doc: "Waits until a person has decided on an action.",
		args: object{
			"approval_id":  text("From run_action."),
			"wait_seconds": integer("At most (25).", 0, patientWait),
		},
		run: awaitDecision,
	}
}

var decided = map[gate.State]string{
	gate.Pending: "pending", gate.Approved: "approved", gate.Denied: "denied", gate.Expired: "expired", gate.Void: "expired",
	gate.Executing: "used", gate.Done: "used", gate.Failed: "used", gate.Interrupted: "used",
}

func awaitDecision(ctx context.Context, s *Server, a args) (any, error) {
	if s.cfg.Actions == nil || a.ApprovalID == "" {
		return nil, &badArgument{"no action waits here", "Call run_action first; it gives approval_id when a person has to decide."}
	}
	seconds := usualWait
	if a.WaitSeconds != nil {
		seconds = *a.WaitSeconds
	}
	stretch := time.Duration(min(seconds, longestWait)) * time.Second
	left := stretch
	if a.progress != nil {
		left, stretch = time.Duration(seconds)*time.Second, progressEvery
	}
	waiting, stop := s.way.Waiting(ctx)
	defer stop()
	for told := 1; ; told++ {
		part, cancel := context.WithTimeout(waiting, min(stretch, left))
		rec, err := s.cfg.Actions.Await(part, principal(ctx), a.ApprovalID)
		cancel()
		left -= stretch
		if why, ok := errors.AsType[gate.Refusal](err); ok {
			state := decided[gate.State(why.Kind)]
			if state == "" {
				return nil, &badArgument{why.Why, "Call run_action to propose it anew."}
			}
			return &Approval{State: state, ApprovalID: a.ApprovalID, Result: why.Why}, nil
		}
		if err != nil {
			return nil, err
		}
		if rec.State != gate.Pending || left <= 0 || waiting.Err() != nil {
			v := &Approval{State: decided[rec.State], ApprovalID: rec.ID, Digest: rec.Short(), ExpiresAt: rec.Expires.UTC().Format(time.RFC3339), Result: rec.Outcome}
			redact.Value(v)
			return v, nil
		}
		s.tellProgress(ctx, a.progress, told, "a person has not decided yet")
	}
}
