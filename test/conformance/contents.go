package main

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/trainmedic/trainmedic/internal/transport"
)

// The smallest picture and the smallest sound.
const (
	dot     = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	silence = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// schema2020 uses what JSON Schema of 2020 has and older ones do not.
const schema2020 = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
"additionalProperties":false}`

// contents are tools that show one kind of content each.
func contents(m *server.MCPServer) {
	text := mcp.NewTextContent
	add(m, "test_simple_text", "A text.", answers(text("This is a simple text response for testing.")))
	add(m, "test_image_content", "A picture.", answers(mcp.NewImageContent(dot, "image/png")))
	add(m, "test_audio_content", "A sound.", answers(mcp.NewAudioContent(silence, "audio/wav")))
	add(m, "test_embedded_resource", "A resource.", answers(mcp.NewEmbeddedResource(mcp.TextResourceContents{
		URI: "test://embedded-resource", MIMEType: "text/plain", Text: "This is an embedded resource content.",
	})))
	add(m, "test_multiple_content_types", "Three kinds at once.", answers(
		text("Multiple content types test:"), mcp.NewImageContent(dot, "image/png"),
		mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: "test://mixed-content-resource", MIMEType: "application/json", Text: `{"test":"data","value":123}`})))
	add(m, "test_error_handling", "An error.", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultError("This tool intentionally returns an error for testing"), nil
	})
	m.AddTool(mcp.NewToolWithRawSchema("json_schema_2020_12_tool", "Tool with JSON Schema 2020-12 features", json.RawMessage(schema2020)), answers(text("ok")))
	m.AddTool(mcp.NewToolWithRawSchema("test_header_parameter", "A parameter that a client repeats in a header.",
		json.RawMessage(`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}`)), answers(text("ok")))
	add(m, "test_reconnection", "A text.", answers(text("Reconnection test completed successfully.")))
}

// notices are tools that tell something while they run.
func notices(m *server.MCPServer, way *transport.Service) {
	logs := func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		for _, line := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
			way.Log(ctx, mcp.LoggingLevelInfo, "conformance", line)
		}
		return done("logged")
	}
	add(m, "test_tool_with_logging", "Three lines of log.", logs)
	add(m, "test_logging_tool", "Three lines of log, for those who want them.", logs)
	add(m, "test_tool_with_progress", "Progress in three steps.", func(ctx context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
			return done("nobody asked for progress")
		}
		for _, n := range []int{0, 50, 100} {
			way.Tell(ctx, "notifications/progress", map[string]any{"progressToken": req.Params.Meta.ProgressToken, "progress": n, "total": 100})
		}
		return done("progress reported")
	})
	add(m, "test_trigger_tool_change", "Changes the list of tools.", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		add(m, "test_that_came_later", "A text.", answers(mcp.NewTextContent("later")))
		m.DeleteTools("test_that_came_later")
		return done("changed")
	})
	add(m, "test_trigger_prompt_change", "Changes the list of prompts.", func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		m.AddPrompt(mcp.NewPrompt("test_that_came_later", mcp.WithPromptDescription("A text.")), says(mcp.NewTextContent("later")))
		m.DeletePrompts("test_that_came_later")
		return done("changed")
	})
}
