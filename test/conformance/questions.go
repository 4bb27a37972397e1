package main

import (
	"context"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type object = map[string]any

// form is a schema of what a user is asked for.
func form(properties object, required ...string) object {
	o := object{"type": "object", "properties": properties}
	if required != nil {
		o["required"] = required
	}
	return o
}

var (
	word    = object{"type": "string"}
	choices = []string{"option1", "option2"}
)

func titled(value, title string) object { return object{"const": value, "title": title} }

// questions are tools that ask the client in the middle of a call, as the older
// era does.
func questions(m *server.MCPServer) {
	m.AddTool(mcp.NewTool("test_sampling", mcp.WithDescription("Asks the client's model."), mcp.WithString("prompt", mcp.Required())),
		func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			r, err := m.RequestSampling(ctx, mcp.CreateMessageRequest{CreateMessageParams: message(req.GetString("prompt", ""), 100)}) //nolint:staticcheck // the older era has it
			if err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			return done("LLM response: %v", r.Content)
		})
	m.AddTool(mcp.NewTool("test_elicitation", mcp.WithDescription("Asks the client's user."), mcp.WithString("message", mcp.Required())),
		func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return elicit(ctx, m, req.GetString("message", ""), form(object{"username": word, "email": word}, "username", "email"))
		})
	add(m, "test_elicitation_sep1034_defaults", "Asks with defaults.", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return elicit(ctx, m, "Your details, please.", form(object{
			"name":     object{"type": "string", "default": "John Doe"},
			"age":      object{"type": "integer", "default": 30},
			"score":    object{"type": "number", "default": 95.5},
			"status":   object{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
			"verified": object{"type": "boolean", "default": true},
		}))
	})
	add(m, "test_elicitation_sep1330_enums", "Asks with choices.", func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		both := []object{titled("value1", "Value One"), titled("value2", "Value Two")}
		return elicit(ctx, m, "Choose.", form(object{
			"untitledSingle": object{"type": "string", "enum": choices},
			"titledSingle":   object{"type": "string", "oneOf": both},
			"legacyEnum":     object{"type": "string", "enum": []string{"opt1", "opt2"}, "enumNames": []string{"Option One", "Option Two"}},
			"untitledMulti":  object{"type": "array", "items": object{"type": "string", "enum": choices}},
			"titledMulti":    object{"type": "array", "items": object{"anyOf": both}},
		}))
	})
}

func elicit(ctx context.Context, m *server.MCPServer, message string, schema object) (*mcp.CallToolResult, error) {
	r, err := m.RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{Message: message, RequestedSchema: schema}})
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return done("action=%s, content=%v", r.Action, r.Content)
}

func message(text string, most int) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(text)}}, MaxTokens: most}
}
