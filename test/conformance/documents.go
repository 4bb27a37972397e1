package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// documents are the resources and the prompts.
func documents(m *server.MCPServer) {
	reads := func(c mcp.ResourceContents) server.ResourceHandlerFunc {
		return func(context.Context, mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{c}, nil
		}
	}
	for _, uri := range []string{"test://static-text", "test://watched-resource"} {
		m.AddResource(mcp.NewResource(uri, uri, mcp.WithResourceDescription("A text."), mcp.WithMIMEType("text/plain")),
			reads(mcp.TextResourceContents{URI: uri, MIMEType: "text/plain", Text: "This is the content of the static text resource."}))
	}
	const binary = "test://static-binary"
	m.AddResource(mcp.NewResource(binary, binary, mcp.WithResourceDescription("A picture."), mcp.WithMIMEType("image/png")),
		reads(mcp.BlobResourceContents{URI: binary, MIMEType: "image/png", Blob: dot}))
	m.AddResourceTemplate(mcp.NewResourceTemplate("test://template/{id}/data", "template", mcp.WithTemplateDescription("A document for each id."), mcp.WithTemplateMIMEType("application/json")),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "application/json", Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id)}}, nil
		})

	m.AddPrompt(mcp.NewPrompt("test_simple_prompt", mcp.WithPromptDescription("A text.")), says(mcp.NewTextContent("This is a simple prompt for testing.")))
	m.AddPrompt(mcp.NewPrompt("test_prompt_with_image", mcp.WithPromptDescription("A picture.")),
		says(mcp.NewImageContent(dot, "image/png"), mcp.NewTextContent("Please analyze the image above.")))
	m.AddPrompt(mcp.NewPrompt("test_prompt_with_arguments", mcp.WithPromptDescription("Two arguments."),
		mcp.WithArgument("arg1", mcp.RequiredArgument()), mcp.WithArgument("arg2", mcp.RequiredArgument())),
		func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			a := req.Params.Arguments
			return says(mcp.NewTextContent(fmt.Sprintf("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])))(ctx, req)
		})
	m.AddPrompt(mcp.NewPrompt("test_prompt_with_embedded_resource", mcp.WithPromptDescription("A resource."), mcp.WithArgument("resourceUri", mcp.RequiredArgument())),
		func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			r := mcp.NewEmbeddedResource(mcp.TextResourceContents{URI: req.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Embedded resource content for testing."})
			return says(r, mcp.NewTextContent("Please process the embedded resource above."))(ctx, req)
		})
	m.AddPrompt(mcp.NewPrompt("test_input_required_result_prompt", mcp.WithPromptDescription("Asks for its context.")),
		func(ctx context.Context, req mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if content, ok := filled(server.ElicitationResponse(req.Params.InputResponses, "user_context")); ok {
				return says(mcp.NewTextContent(fmt.Sprint("Context: ", content["context"])))(ctx, req)
			}
			return server.NewInputRequestBuilder("").Elicit("user_context", ask("What context should the prompt use?", object{"context": word}, "context")).PromptResult(), nil
		})
}

// says is a prompt of some messages of the user.
func says(c ...mcp.Content) server.PromptHandlerFunc {
	return func(context.Context, mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		r := &mcp.GetPromptResult{}
		for _, c := range c {
			r.Messages = append(r.Messages, mcp.PromptMessage{Role: mcp.RoleUser, Content: c})
		}
		return r, nil
	}
}
