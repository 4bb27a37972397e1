package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/door"
	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/transport"
	"github.com/trainmedic/trainmedic/tools"
)

func bearer(secret string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + secret}
}

// acts calls run_action over a network.
func (p *peer) acts(t *testing.T, args map[string]any) (v tools.ActionResult) {
	t.Helper()
	res, err := p.CallTool(t.Context(), request("run_action", args))
	if err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(res.StructuredContent)
	if err := json.Unmarshal(b, &v); err != nil || res.IsError {
		t.Fatalf("%v: %+v", err, res)
	}
	return v
}

const annsToken, bobsToken = "tm_ANNSTOKENANNSTOKEN", "tm_BOBSTOKENBOBSTOKEN"

func TestActionsOverANetworkBelongToAToken(t *testing.T) {
	for _, way := range allWays {
		t.Run(way, func(t *testing.T) {
			s, _, d, w := acting(t, gate.Policy{On: true})
			n := listen(t, s, transport.Network{Tokens: []door.Token{{Name: "ann", Secret: annsToken}, {Name: "bob", Secret: bobsToken}}})
			ann, bob, second := connect(t, n, way, bearer(annsToken)), connect(t, n, way, bearer(bobsToken)), connect(t, n, way, bearer(annsToken))
			r := ann.acts(t, map[string]any{"target": "pid:7", "operation": "terminate"})
			if r.State != tools.ActionRequired {
				t.Fatalf("%+v", r)
			}
			plan := d.List()[0]
			if !strings.HasPrefix(plan.Principal, "token ann (") || strings.Contains(plan.Principal, annsToken) || strings.Contains(plan.Principal, "tms_") {
				t.Errorf("it is %q who asks", plan.Principal)
			}
			if _, err := d.Decide(gate.Decision{ID: plan.ID, Digest: plan.Digest, Yes: true, By: "a person"}); err != nil {
				t.Fatal(err)
			}
			others := map[string]*peer{"another client": bob}
			if way != "modern" { // there a client has no session: its token is all that it is known by
				others["another session"] = second
			}
			for name, p := range others {
				if got := p.acts(t, map[string]any{"approval_id": r.ApprovalID}); got.State != tools.ActionRefused || got.Reason != "not_found" {
					t.Errorf("%s: %+v", name, got)
				}
				if got := p.acts(t, map[string]any{"approval_id": r.ApprovalID, "target": "pid:7", "operation": "terminate"}); got.State != tools.ActionRefused || got.Reason != "not_found" {
					t.Errorf("%s, with the arguments: %+v", name, got)
				}
				if res, err := p.CallTool(t.Context(), request("await_approval", map[string]any{"approval_id": r.ApprovalID})); err != nil || !res.IsError {
					t.Errorf("%s learns how it stands: %+v, %v", name, res, err)
				}
			}
			if len(w.did) > 0 {
				t.Fatalf("done: %q", w.did)
			}
			if got := ann.acts(t, map[string]any{"approval_id": r.ApprovalID}); got.State != tools.ActionDone || len(w.did) != 1 {
				t.Errorf("%+v, done %q", got, w.did)
			}
		})
	}
}

func TestWithoutATokenNothingIsDoneOverANetwork(t *testing.T) {
	for _, way := range allWays {
		s, _, _, w := acting(t, gate.Policy{On: true})
		p := connect(t, listen(t, s, transport.Network{}), way, nil)
		for _, args := range []map[string]any{{"target": "pid:7", "operation": "restart"}, {"approval_id": "abcdefgh"}} {
			if r := p.acts(t, args); r.State != tools.ActionRefused || r.Reason != "read_only" || !strings.Contains(r.Result, "--token") || len(w.did) > 0 {
				t.Errorf("%s: %+v, done %q", way, r, w.did)
			}
		}
	}
}

// TestASessionOfAnotherTokenIsRefused has a client with a token of its own go on
// with the session in which another one's plan was made.
func TestASessionOfAnotherTokenIsRefused(t *testing.T) {
	s, _, d, w := acting(t, gate.Policy{On: true})
	n := listen(t, s, transport.Network{Tokens: []door.Token{{Name: "ann", Secret: annsToken}, {Name: "bob", Secret: bobsToken}}})
	ann := connect(t, n, "http", bearer(annsToken))
	r := ann.acts(t, map[string]any{"target": "pid:7", "operation": "terminate"})
	plan := d.List()[0]
	if _, err := d.Decide(gate.Decision{ID: plan.ID, Digest: plan.Digest, Yes: true}); err != nil {
		t.Fatal(err)
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_action","arguments":{"approval_id":"` + r.ApprovalID + `"}}}`
	for name, session := range map[string]string{"another one's": ann.GetSessionId(), "a made up one": "tms_MADEUPMADEUPMADEUPMADEUP", "none": ""} {
		head := bearer(bobsToken)
		head["Mcp-Session-Id"] = session
		if got := post(t, n.http, call, head); !strings.Contains(got, "no such session") || len(w.did) > 0 {
			t.Errorf("%s: %s, done %q", name, got, w.did)
		}
	}
}
