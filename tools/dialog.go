package tools

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/trainmedic/trainmedic/internal/gate"
)

// dialogID names the one question of a dialog.
const dialogID = "approve"

// elicits reports whether the client said that it can ask its user.
func elicits(ctx context.Context) bool {
	return capabilities(ctx).Elicitation != nil
}

// capabilities are what the client says that it can do: with each request in the
// newer era, once in the older.
func capabilities(ctx context.Context) mcp.ClientCapabilities {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientCapabilities != nil {
		return *info.ClientCapabilities
	}
	if c, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		return c.GetClientCapabilities()
	}
	return mcp.ClientCapabilities{}
}

// askInDialog has the client ask its user to type the code. The state that the
// client carries is signed: it is bound to the plan and to who proposed it.
func (s *Server) askInDialog(who string, rec gate.Record) *mcp.CallToolResult {
	message := fmt.Sprintf("trainmedic asks to do this:\n\n%s\n\nTo approve, type the code %s.", strings.Join(rec.Does, "\n"), rec.Short())
	return server.NewInputRequestBuilder(s.sealed(who, rec.ID)).Elicit(dialogID, mcp.ElicitationParams{
		Message: message,
		RequestedSchema: object{
			"type":       "object",
			"properties": object{"code": object{"type": "string", "title": "Code", "description": "The eight characters of the code, to approve", "minLength": 8, "maxLength": 8}},
			"required":   []string{"code"},
		},
	}).ToolResult()
}

// sealed is a plan's id with a signature over it and its principal.
func (s *Server) sealed(who, id string) string {
	m := hmac.New(sha256.New, s.seal[:])
	m.Write([]byte(id + "\x00" + who))
	return id + "." + hex.EncodeToString(m.Sum(nil))
}

// answered takes what came back from a dialog. What was not asked decides nothing.
func (s *Server) answered(ctx context.Context, who string, a args) (any, error) {
	id, _, _ := strings.Cut(a.requestState, ".")
	if !hmac.Equal([]byte(a.requestState), []byte(s.sealed(who, id))) {
		return refusal(gate.Record{}, gate.Refusal{Kind: "bad_request_state", Why: "requestState is not one that this server gave this client: nothing is decided"})
	}
	r := server.ElicitationResponse(a.answers, dialogID)
	if r == nil || r.Action == mcp.ElicitationResponseActionCancel {
		return s.stillWaits(ctx, who, id)
	}
	content, _ := r.Content.(map[string]any)
	code, _ := content["code"].(string)
	accepted := r.Action == mcp.ElicitationResponseActionAccept
	if accepted && code == "" {
		return s.stillWaits(ctx, who, id)
	}
	if err := s.cfg.Actions.InDialog(who, id, accepted, strings.TrimSpace(code)); err != nil {
		return refusal(gate.Record{ID: id}, err)
	}
	return s.execute(ctx, who, id, nil)
}

// stillWaits answers that the plan waits for a person elsewhere.
func (s *Server) stillWaits(ctx context.Context, who, id string) (any, error) {
	rec, err := s.cfg.Actions.Await(cancelled(ctx), who, id)
	if err != nil || rec.State != gate.Pending {
		return refusal(gate.Record{ID: id}, gate.Refusal{Kind: "dialog", Why: "the dialog decided nothing"})
	}
	return s.required(rec), nil
}
