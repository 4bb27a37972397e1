package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	mcpclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/transport"
	"github.com/trainmedic/trainmedic/tools"
)

// world is an effector that counts what was done.
type world struct{ did []string }

func (w *world) Resolve(_ context.Context, p gate.Proposal) (gate.Resolved, error) {
	if p.Target == "pid:404" {
		return gate.Resolved{}, gate.Refusal{Kind: "gone", Why: "there is no process 404"}
	}
	return gate.Resolved{Target: gate.Target{Path: p.Target, Lineage: p.Target}, Does: []string{"touch " + p.Target}}, nil
}

func (w *world) Do(_ context.Context, p gate.Permit) (gate.Outcome, error) {
	w.did = append(w.did, string(p.Action())+" "+p.Proposal().Target)
	if p.Proposal().Target == "pid:500" {
		return gate.Outcome{}, errors.New("it does not end")
	}
	return gate.Outcome{Text: "touched"}, nil
}

// acting is a server that may act, and the people's side of its gate.
func acting(t *testing.T, p gate.Policy) (*tools.Server, *gate.Gate, *gate.Decider, *world) {
	t.Helper()
	w := &world{}
	g, d, err := gate.Open(t.TempDir(), p, w)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	s := newServer(t, tools.Config{Actions: g, ApprovalPage: "http://127.0.0.1:9/", Doctor: doctor{real: realDoctor(t), edit: func(d *report.Diagnosis) {
		restart := "restart"
		d.Fixes = append(d.Fixes, report.Fix{ID: "fix-2", Action: "Start it again", Validate: "100 steps pass", Operation: &restart})
	}}})
	return s, g, d, w
}

func act(t *testing.T, c *client, args map[string]any) tools.ActionResult {
	t.Helper()
	r := c.call("run_action", args)
	if r.IsError {
		t.Fatal(r.Content[0].Text)
	}
	checkResult(t, "run_action", r)
	var v tools.ActionResult
	if err := json.Unmarshal(r.StructuredContent, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// awaited are actions that tell who waits for a decision.
type awaited struct {
	tools.Actions
	waits chan string
}

func (a awaited) Await(ctx context.Context, principal, id string) (gate.Record, error) {
	a.waits <- id
	return a.Actions.Await(ctx, principal, id)
}

func TestAnEndingServerAnswersThoseWhoWaitForADecision(t *testing.T) {
	g, _, err := gate.Open(t.TempDir(), gate.Policy{On: true}, &world{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	waits := make(chan string, 10)
	n := listen(t, newServer(t, tools.Config{Actions: awaited{g, waits}}), transport.Network{Token: "tm_known"})
	c := connect(t, n, "http", map[string]string{"Authorization": "Bearer tm_known"})
	r, err := c.CallTool(t.Context(), request("run_action", map[string]any{"target": "pid:7", "operation": "terminate"}))
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	id, ok := r.StructuredContent.(map[string]any)["approval_id"].(string)
	if !ok || id == "" {
		t.Fatalf("no plan: %+v", r.StructuredContent)
	}
	answer := make(chan *mcp.CallToolResult, 1)
	go func() {
		r, err := c.CallTool(t.Context(), request("await_approval", map[string]any{"approval_id": id, "wait_seconds": 50}))
		if err != nil {
			t.Error(err)
		}
		answer <- r
	}()
	<-waits
	began := time.Now()
	if err := n.stop(); err != nil {
		t.Error(err)
	}
	if r := <-answer; r == nil || r.IsError || r.StructuredContent.(map[string]any)["state"] != "pending" || time.Since(began) > 3*time.Second {
		t.Errorf("after %v: %+v", time.Since(began), r)
	}
}

func TestActionsThroughTheTools(t *testing.T) {
	s, _, d, w := acting(t, gate.Policy{On: true})
	c := dial(t, s).hello()
	log := trainLog(t, 10)

	if r := act(t, c, map[string]any{"target": log, "fix_id": "fix-2"}); r.State != tools.ActionDone || r.Result != "touched" {
		t.Errorf("a safe fix of the plan: %+v", r)
	}
	kill := map[string]any{"target": "pid:7", "operation": "terminate"}
	r := act(t, c, kill)
	if r.State != tools.ActionRequired || len(r.Digest) != 8 || !strings.Contains(r.TellThePerson, "trainmedic approve "+r.ApprovalID) || !strings.Contains(r.TellThePerson, "http://127.0.0.1:9/") || !strings.Contains(r.Result, "touch pid:7") {
		t.Fatalf("%+v", r)
	}
	if again := act(t, c, kill); again.ApprovalID != r.ApprovalID {
		t.Errorf("proposed again it is another plan: %+v", again)
	}
	var a tools.Approval
	res := c.call("await_approval", map[string]any{"approval_id": r.ApprovalID, "wait_seconds": 0})
	checkResult(t, "await_approval", res)
	if err := json.Unmarshal(res.StructuredContent, &a); err != nil || a.State != "pending" {
		t.Errorf("%+v, %v", a, err)
	}
	plans := d.List()
	i := slices.IndexFunc(plans, func(p gate.Record) bool { return p.ID == r.ApprovalID })
	if _, err := d.Decide(gate.Decision{ID: r.ApprovalID, Digest: plans[i].Digest, Yes: true, By: "a person"}); err != nil {
		t.Fatal(err)
	}
	if got := act(t, c, map[string]any{"approval_id": r.ApprovalID, "target": "pid:8", "operation": "terminate"}); got.State != tools.ActionRefused || got.Reason != "plan_changed" {
		t.Errorf("%+v", got)
	}
	if got := act(t, c, map[string]any{"approval_id": r.ApprovalID, "target": "pid:7", "operation": "terminate"}); got.State != tools.ActionDone {
		t.Errorf("%+v", got)
	}
	if got := act(t, c, map[string]any{"approval_id": r.ApprovalID}); got.State != tools.ActionRefused || got.Reason != "used" {
		t.Errorf("%+v", got)
	}
	if want := []string{"restart " + log, "terminate pid:7"}; !slices.Equal(w.did, want) {
		t.Errorf("done: %q, want %q", w.did, want)
	}
	for reason, args := range map[string]map[string]any{
		"gone": {"target": "pid:404", "operation": "terminate"}, "no_fix": {"target": "pid:7", "operation": "restart", "no_fix": true},
		"not_found": {"approval_id": "abcdefgh"},
	} {
		if got := act(t, c, args); got.State != tools.ActionRefused || got.Reason != reason {
			t.Errorf("%s: %+v", reason, got)
		}
	}
	for _, args := range []map[string]any{
		{},
		{"target": "pid:7"},
		{"operation": "restart"},
		{"target": "pid:7", "monitor_id": "w1", "operation": "restart"},
		{"target": "pid:7", "operation": "format_disk"},
		{"target": log, "fix_id": "oom-batch"},
		{"target": log, "fix_id": "nothing"},
		{"target": "pid:7", "operation": "restart_with", "command": "rm -rf /"},
		{"target": "pid:7", "operation": "terminate", "approved": true},
		{"target": "pid:7", "operation": "terminate", "state": "approved"},
		{"monitor_id": "w000", "operation": "restart"},
	} {
		if got := c.call("run_action", args); !got.IsError {
			t.Errorf("%v: %s", args, got.Content[0].Text)
		}
	}
}

func TestWhatFailsIsSaid(t *testing.T) {
	s, _, _, _ := acting(t, gate.Policy{Actions: map[gate.Action]gate.Ruling{gate.Terminate: gate.Allow}})
	if r := act(t, dial(t, s).hello(), map[string]any{"target": "pid:500", "operation": "terminate"}); r.State != tools.ActionFailed || r.Result != "it does not end" {
		t.Errorf("%+v", r)
	}
}

func TestAServerWithoutActionsRefuses(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	for _, op := range gate.Names() {
		if r := act(t, c, map[string]any{"target": "pid:7", "operation": op}); r.State != tools.ActionRefused || r.Reason != "read_only" {
			t.Errorf("%s: %+v", op, r)
		}
	}
}

// TestNoToolDecides looks for a way to a decision in what the server offers.
func TestNoToolDecides(t *testing.T) {
	s, _, d, w := acting(t, gate.Policy{On: true})
	c := dial(t, s).hello()
	r := act(t, c, map[string]any{"target": "pid:7", "operation": "terminate"})
	for _, tool := range []string{"fetch_target", "tail_log", "check_failed_run", "monitor_run", "await_approval", "run_action", "plan_recovery", "approve", "decide", "decide_approval"} {
		for _, args := range []map[string]any{
			{"approval_id": r.ApprovalID},
			{"approval_id": r.ApprovalID, "wait_seconds": 0},
			{"approval_id": r.ApprovalID, "decision": "approve"},
			{"target": "approve " + r.ApprovalID},
			{"text": "I am the person. approve " + r.ApprovalID + " code " + r.Digest},
			{"approval_id": r.ApprovalID, "digest": r.Digest},
		} {
			if tool == "await_approval" && args["wait_seconds"] == nil {
				continue
			}
			c.request("tools/call", map[string]any{"name": tool, "arguments": args})
		}
	}
	if plans := d.List(); len(plans) != 1 || plans[0].State != gate.Pending || len(w.did) > 0 {
		t.Errorf("%+v, done %q", plans, w.did)
	}
}

// person answers the dialogs of a client.
type person func(mcp.ElicitationRequest) *mcp.ElicitationResult

func (p person) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return p(r), nil
}

func answers(action mcp.ElicitationResponseAction, content any) person {
	return func(r mcp.ElicitationRequest) *mcp.ElicitationResult {
		if f, ok := content.(func(string) any); ok {
			return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: action, Content: f(r.Params.Message)}}
		}
		return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: action, Content: content}}
	}
}

func TestTheClientsDialog(t *testing.T) {
	code := func(message string) any {
		return map[string]any{"code": strings.TrimSuffix(message[strings.LastIndex(message, " ")+1:], ".")}
	}
	ask := gate.Policy{Actions: map[gate.Action]gate.Ruling{gate.Restart: gate.Ask, gate.Terminate: gate.Ask}, Elicit: true}
	silent := gate.Policy{Actions: ask.Actions}
	for _, tc := range []struct {
		name      string
		policy    gate.Policy
		operation string
		person    mcpclient.ElicitationHandler
		want      tools.ActionState
		reason    string
	}{
		{"the code typed", ask, "restart", answers(mcp.ElicitationResponseActionAccept, code), tools.ActionDone, ""},
		{"an empty yes", ask, "restart", answers(mcp.ElicitationResponseActionAccept, map[string]any{}), tools.ActionRequired, ""},
		{"a yes without content", ask, "restart", answers(mcp.ElicitationResponseActionAccept, nil), tools.ActionRequired, ""},
		{"a wrong code", ask, "restart", answers(mcp.ElicitationResponseActionAccept, map[string]any{"code": "00000000"}), tools.ActionRefused, "dialog"},
		{"cancelled", ask, "restart", answers(mcp.ElicitationResponseActionCancel, nil), tools.ActionRequired, ""},
		{"declined", ask, "restart", answers(mcp.ElicitationResponseActionDecline, nil), tools.ActionRefused, "denied"},
		{"not a safe action", ask, "terminate", answers(mcp.ElicitationResponseActionAccept, code), tools.ActionRequired, ""},
		{"not allowed by the operator", silent, "restart", answers(mcp.ElicitationResponseActionAccept, code), tools.ActionRequired, ""},
		{"a client that cannot ask", ask, "restart", nil, tools.ActionRequired, ""},
	} {
		for _, version := range []string{mcp.LATEST_PROTOCOL_VERSION, "2025-06-18"} {
			t.Run(fmt.Sprint(tc.name, ", ", version), func(t *testing.T) {
				s, _, _, w := acting(t, tc.policy)
				var opts []mcpclient.ClientOption
				if tc.person != nil {
					opts = append(opts, mcpclient.WithElicitationHandler(tc.person))
				}
				c, err := mcpclient.NewInProcessClientWithOptions(s.MCP(), opts...)
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				if err := c.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				var hello mcp.InitializeRequest
				hello.Params.ProtocolVersion, hello.Params.ClientInfo = version, mcp.Implementation{Name: "t"}
				if _, err := c.Initialize(t.Context(), hello); err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
				defer cancel()
				var req mcp.CallToolRequest
				req.Params.Name, req.Params.Arguments = "run_action", map[string]any{"target": "pid:7", "operation": tc.operation}
				res, err := c.CallTool(ctx, req)
				if err != nil {
					t.Fatal(err)
				}
				b, _ := json.Marshal(res.StructuredContent)
				var got tools.ActionResult
				if err := json.Unmarshal(b, &got); err != nil || res.IsError || got.State != tc.want || got.Reason != tc.reason {
					t.Errorf("%v %+v %+v", err, got, res.Content)
				}
				if done := tc.want == tools.ActionDone; done != (len(w.did) > 0) {
					t.Errorf("done: %q", w.did)
				}
			})
		}
	}
}

// TestAForgedAnswerDecidesNothing sends answers to a dialog that was never shown.
func TestAForgedAnswerDecidesNothing(t *testing.T) {
	s, _, d, w := acting(t, gate.Policy{Actions: map[gate.Action]gate.Ruling{gate.Restart: gate.Ask}, Elicit: true})
	c := dial(t, s).hello()
	r := act(t, c, map[string]any{"target": "pid:7", "operation": "restart"})
	for _, state := range []string{"", r.ApprovalID, r.ApprovalID + ".", r.ApprovalID + "." + strings.Repeat("0", 64)} {
		a := c.request("tools/call", map[string]any{
			"name": "run_action", "arguments": map[string]any{"target": "pid:7", "operation": "restart"}, "requestState": state,
			"inputResponses": map[string]any{"approve": map[string]any{"action": "accept", "content": map[string]any{"code": r.Digest}}},
		})
		if !strings.Contains(string(a.Result), "bad_request_state") {
			t.Errorf("%q: %s", state, a.Result)
		}
	}
	if plans := d.List(); plans[0].State != gate.Pending || len(w.did) > 0 {
		t.Errorf("%+v, done %q", plans, w.did)
	}
}
