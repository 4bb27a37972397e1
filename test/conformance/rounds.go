package main

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// seal signs the state that a client carries from one round to the next.
type seal [32]byte

func (s *seal) sign(state string) string {
	m := hmac.New(sha256.New, s[:])
	m.Write([]byte(state))
	return state + "." + hex.EncodeToString(m.Sum(nil))
}

func (s *seal) open(signed string) (state string, err error) {
	state, _, _ = strings.Cut(signed, ".")
	if !hmac.Equal([]byte(s.sign(state)), []byte(signed)) {
		return "", fmt.Errorf("%w: requestState is not one that this server gave", mcp.ErrInvalidParams)
	}
	return state, nil
}

func ask(question string, properties object, required string) mcp.ElicitationParams {
	return mcp.ElicitationParams{Message: question, RequestedSchema: form(properties, required)}
}

var (
	askName    = ask("What is your name?", object{"name": word}, "name")
	askConfirm = ask("Please confirm", object{"ok": object{"type": "boolean"}}, "ok")
)

// rounds are tools that ask by ending a call and being called again, as the
// newer era does.
func rounds(m *server.MCPServer) {
	var s seal
	_, _ = rand.Read(s[:]) // it never fails
	needs := func(state string) *server.InputRequestBuilder { return server.NewInputRequestBuilder(state) }

	byName := func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		r := server.ElicitationResponse(req.Params.InputResponses, "user_name")
		content, _ := filled(r)
		if name, ok := content["name"].(string); ok {
			return done("Hello, %s!", name)
		}
		return needs("").Elicit("user_name", askName).ToolResult(), nil
	}
	add(m, "test_input_required_result_elicitation", "Asks for a name.", byName)
	add(m, "test_streaming_elicitation", "Asks for a name.", byName)
	add(m, "test_input_required_result_sampling", "Asks the client's model.", func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r := server.SamplingResponse(req.Params.InputResponses, "capital_question"); r != nil {
			return done("%v", r.Content)
		}
		return needs("").Sample("capital_question", message("What is the capital of France?", 100)).ToolResult(), nil
	})
	add(m, "test_input_required_result_list_roots", "Asks for the client's roots.", func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if r := server.RootsResponse(req.Params.InputResponses, "client_roots"); r != nil {
			return done("%v", r.Roots)
		}
		return needs("").Roots("client_roots").ToolResult(), nil
	})
	confirm := func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.RequestState == "" {
			return needs(s.sign("confirm")).Elicit("confirm", askConfirm).ToolResult(), nil
		}
		if _, err := s.open(req.Params.RequestState); err != nil {
			return nil, err
		}
		return done("state-ok")
	}
	add(m, "test_input_required_result_request_state", "Asks with a state.", confirm)
	add(m, "test_input_required_result_tampered_state", "Asks with a signed state.", confirm)
	add(m, "test_input_required_result_multiple_inputs", "Asks for three things.", func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if a := req.Params.InputResponses; len(a) >= 3 {
			return done("%d answers", len(a))
		}
		return needs(s.sign("three")).Elicit("user_name", askName).Sample("greeting", message("Generate a greeting", 50)).Roots("client_roots").ToolResult(), nil
	})
	add(m, "test_input_required_result_multi_round", "Asks twice.", func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.RequestState == "" {
			return needs(s.sign("one")).Elicit("step1", ask("Step 1: What is your name?", object{"name": word}, "name")).ToolResult(), nil
		}
		state, err := s.open(req.Params.RequestState)
		switch {
		case err != nil:
			return nil, err
		case state == "one":
			return needs(s.sign("two")).Elicit("step2", ask("Step 2: What is your favorite color?", object{"color": word}, "color")).ToolResult(), nil
		}
		return done("twice")
	})
	add(m, "test_input_required_result_capabilities", "Asks only what the client can be asked.", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		b := needs("")
		if can := can(ctx); can.Sampling != nil {
			b.Sample("capital_question", message("What is the capital of France?", 100))
		} else if can.Elicitation != nil {
			b.Elicit("user_name", askName)
		} else {
			return done("nothing can be asked")
		}
		return b.ToolResult(), nil
	})
	add(m, "test_missing_capability", "Needs a client that has sampling.", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if can(ctx).Sampling == nil {
			return nil, errors.New("the client has no sampling")
		}
		return done("it has")
	})
}

// can is what the client declared.
func can(ctx context.Context) mcp.ClientCapabilities {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.ClientCapabilities != nil {
		return *info.ClientCapabilities
	}
	return mcp.ClientCapabilities{}
}

// filled is what a user filled in.
func filled(r *mcp.ElicitationResult) (map[string]any, bool) {
	if r == nil || r.Action != mcp.ElicitationResponseActionAccept {
		return nil, false
	}
	content, ok := r.Content.(map[string]any)
	return content, ok
}
