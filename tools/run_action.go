package tools

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/transport"
)

// Actions is the agents' side of the gate: a gate.Gate. Nothing in it decides but
// InDialog, and that only what the operator and the fix policy leave to it.
type Actions interface {
	Propose(ctx context.Context, p gate.Proposal) (gate.Record, gate.Ruling, error)
	Execute(ctx context.Context, principal, id string, again *gate.Proposal) (gate.Record, gate.Outcome, error)
	Await(ctx context.Context, principal, id string) (gate.Record, error)
	Dialog(r *gate.Record) bool
	InDialog(principal, id string, accepted bool, typed string) error
}

// ActionState is what became of a call of run_action.
type ActionState string

// The states of a call of run_action.
const (
	ActionDone     ActionState = "done"
	ActionRequired ActionState = "approval_required"
	ActionRefused  ActionState = "refused"
	ActionFailed   ActionState = "failed"
	ActionUnknown  ActionState = "unknown" // it was sent to a host, and nobody knows whether it was done
)

// ActionResult is the result of run_action. A refusal is an answer, not an error.
type ActionResult struct {
	State         ActionState `json:"state" jsonschema:"enum=done,enum=approval_required,enum=refused,enum=failed,enum=unknown"`
	ApprovalID    string      `json:"approval_id"`
	Digest        string      `json:"digest"`
	ExpiresAt     string      `json:"expires_at"`
	TellThePerson string      `json:"tell_the_person"`
	Result        string      `json:"result"`
	Reason        string      `json:"reason"`
	MonitorID     string      `json:"monitor_id"`
}

func runAction() *tool {
	return &tool{
		name: "run_action", title: "Act on a run", result: "run_action", bare: true, acts: true,
		doc: "Does one action on a run, or asks a person first: state approval_required then; show tell_the_person word for word, call await_approval, then run_action with approval_id. Only a person decides; never run trainmedic approve yourself. After a restart go on with monitor_run.",
		args: object{
			"monitor_id":  text("The run's watch."),
			"target":      text("Or the run: pid:N, slurm:JOB."),
			"fix_id":      text("A fix of its plan."),
			"operation":   enum("Or the operation.", gate.Names()...),
			"command":     object{"type": "array", "items": object{"type": "string"}, "description": "restart_with: the whole command, as words."},
			"env":         object{"type": "object", "additionalProperties": object{"type": "string"}, "description": "restart_with: variables to set."},
			"checkpoint":  text("repoint_checkpoint: a complete one."),
			"approval_id": text("Carry out what was approved."),
			"no_fix":      object{"type": "boolean"},
		},
		run: act,
	}
}

func act(ctx context.Context, s *Server, a args) (any, error) {
	if s.cfg.Actions == nil {
		return refusal(gate.Record{}, gate.Refusal{Kind: "read_only", Why: "this server changes nothing; a person may start it with --allow-actions"})
	}
	if who, network := transport.Caller(ctx); network && who == "" {
		return refusal(gate.Record{}, gate.Refusal{Kind: "read_only", Why: "without a token nobody knows which client asks, so this server changes nothing for it; a person may start it with --token or --token-file"})
	}
	who := principal(ctx)
	if a.answers != nil || a.requestState != "" {
		return s.answered(ctx, who, a)
	}
	named := a.Target != "" || a.MonitorID != "" || a.FixID != "" || a.Operation != "" || len(a.Command)+len(a.Env) > 0 || a.Checkpoint != ""
	var p *gate.Proposal
	if a.ApprovalID == "" || named {
		got, err := s.proposal(ctx, who, a)
		if err != nil {
			return nil, err
		}
		p = got
	}
	if a.ApprovalID != "" {
		return s.execute(ctx, who, a.ApprovalID, p)
	}
	rec, ruling, err := s.cfg.Actions.Propose(ctx, *p)
	switch {
	case err != nil:
		return refusal(rec, err)
	case ruling == gate.Allow:
		return s.execute(ctx, who, rec.ID, nil)
	case rec.State == gate.Approved: // the same plan, proposed again after the decision
		return s.execute(ctx, who, rec.ID, nil)
	case s.cfg.Actions.Dialog(&rec) && elicits(ctx):
		return s.askInDialog(who, rec), nil
	}
	return s.required(rec), nil
}

// proposal makes of the arguments what they want to have done.
func (s *Server) proposal(ctx context.Context, who string, a args) (*gate.Proposal, error) {
	if (a.Target == "") == (a.MonitorID == "") {
		return nil, &badArgument{"give one of target and monitor_id", "Give monitor_id of the run's watch, or target (pid:N, slurm:JOB)."}
	}
	if (a.FixID == "") == (a.Operation == "") {
		return nil, &badArgument{"give one of fix_id and operation", "Give fix_id of a fix that has an operation (plan_recovery), or operation with its arguments."}
	}
	p := &gate.Proposal{
		Principal: who, Run: a.MonitorID, Target: a.Target, Action: gate.Action(a.Operation), NoFix: a.NoFix,
		Args: gate.Args{Command: a.Command, Env: a.Env, Checkpoint: a.Checkpoint},
	}
	var plan monitor.Plan
	switch {
	case a.MonitorID != "":
		got, err := s.cfg.Watches.Plan(a.MonitorID)
		if err != nil {
			return nil, err
		}
		plan = got
		p.Target, p.Project, p.Region, p.NoFix = plan.Target, plan.Project, plan.Region, p.NoFix || plan.NoFix
	case a.FixID != "":
		res, err := s.look(ctx, a)
		if err != nil {
			return nil, err
		}
		plan.Fixes, plan.BestCheckpoint = res.Diagnosis.Fixes, res.Diagnosis.BestCheckpoint
	}
	if a.FixID != "" {
		if err := fromPlan(p, plan, a.FixID); err != nil {
			return nil, err
		}
	}
	if p.Action == gate.Repoint && p.Args.Checkpoint == "" && plan.BestCheckpoint != nil {
		p.Args.Checkpoint = *plan.BestCheckpoint
	}
	return p, nil
}

// fromPlan fills in what a fix of the plan says.
func fromPlan(p *gate.Proposal, plan monitor.Plan, id string) error {
	for _, f := range plan.Fixes {
		if f.ID != id {
			continue
		}
		if f.Operation == nil {
			return &badArgument{fmt.Sprintf("fix %.40q has no operation: it is for a person", id), "Show the person the fix; or propose an operation with its arguments."}
		}
		p.Action, p.Fix, p.Validate = gate.Action(*f.Operation), f.Action, f.Validate
		return nil
	}
	return &badArgument{fmt.Sprintf("no fix %.40q in the plan of this run", id), "Take an id from plan_recovery; a watch has a plan when its run has failed."}
}

// execute does an approved plan, and has the run's watch go on.
func (s *Server) execute(ctx context.Context, who, id string, again *gate.Proposal) (any, error) {
	rec, out, err := s.cfg.Actions.Execute(ctx, who, id, again)
	if err != nil {
		if why, ok := errors.AsType[gate.Refusal](err); ok && why.Kind == string(gate.Pending) {
			if rec, err = s.cfg.Actions.Await(cancelled(ctx), who, id); err == nil {
				return s.required(rec), nil
			}
		}
		rec.ID = id
		return refusal(rec, err)
	}
	res := &ActionResult{State: ActionDone, ApprovalID: rec.ID, Digest: rec.Short(), Result: rec.Outcome, MonitorID: out.Watch}
	switch rec.State {
	case gate.Failed:
		res.State = ActionFailed
	case gate.Interrupted:
		res.State = ActionUnknown
	}
	if rec.Run != "" {
		res.MonitorID = rec.Run
	}
	if res.MonitorID != "" && (res.State == ActionDone || out.Run != nil) {
		a := monitor.Acted{ID: rec.ID, Text: fmt.Sprintf("%s (%s): %s", rec.Action, rec.Decided, rec.Outcome), Validate: rec.Validate, Run: out.Run}
		if err := s.cfg.Watches.Act(ctx, res.MonitorID, a); err != nil {
			res.Result += "; its watch was not told: " + redact.Clip(err.Error(), 200)
		}
	} else if out.Run != nil {
		out.Run.Close() // only the watching ends
	}
	redact.Value(res)
	return res, nil
}

// cancelled is a context that waits for nothing.
func cancelled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

// refusal is the answer that nothing was done; what is no refusal is an error.
func refusal(rec gate.Record, err error) (any, error) {
	why, ok := errors.AsType[gate.Refusal](err)
	if !ok {
		return nil, err
	}
	res := &ActionResult{State: ActionRefused, ApprovalID: rec.ID, Digest: rec.Short(), Reason: why.Kind, Result: why.Why}
	redact.Value(res)
	return res, nil
}

// required says what a person has to be told.
func (s *Server) required(rec gate.Record) *ActionResult {
	until := rec.Expires.Local().Format("15:04:05")
	say := fmt.Sprintf("%s waits for you, with the code %s. Nothing is done before you approve it, and the request is void at %s.\nIn a terminal of your own: trainmedic approve %s\nIt shows exactly what will run; the code there has to be %s.",
		rec.Action, rec.Short(), until, rec.ID, rec.Short())
	if s.cfg.ApprovalPage != "" {
		say += "\nOr on the approval page: " + s.cfg.ApprovalPage
	}
	res := &ActionResult{
		State: ActionRequired, ApprovalID: rec.ID, Digest: rec.Short(), ExpiresAt: rec.Expires.UTC().Format(time.RFC3339), TellThePerson: say,
		Reason: rec.Changed,
	}
	for _, l := range rec.Does {
		res.Result += l + "\n"
	}
	redact.Value(res)
	return res
}

// principal is who calls: a plan belongs to the session that proposed it, over a
// network to that of a token. Where a request has no session, as in the newer
// protocol over HTTP, it belongs to the token alone.
func principal(ctx context.Context) string {
	who, network := transport.Caller(ctx)
	session := server.ClientSessionFromContext(ctx)
	if session == nil {
		return "a client without a session"
	}
	name := "a client"
	if c, ok := session.(server.SessionWithClientInfo); ok && c.GetClientInfo().Name != "" {
		name = c.GetClientInfo().Name
	}
	switch id := session.SessionID(); {
	case network && id == "":
		return who
	case network:
		sum := sha256.Sum256([]byte(id)) // its name is as good as a key, and this is written down
		return who + ", " + redact.Clip(name, 60) + ", session " + hex.EncodeToString(sum[:8])
	default:
		return redact.Clip(name, 60) + ", session " + id
	}
}
