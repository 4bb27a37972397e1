package tools

import (
	"context"
	"fmt"
	"io/fs"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/references"
	"github.com/trainmedic/trainmedic/schemas"
)

func noCut() []report.Cut { return []report.Cut{} }

// addResources lists the documents and the schemas; results come as they are made.
func (s *Server) addResources() {
	entries, _ := fs.ReadDir(references.Files, ".") // an embedded root always reads
	for _, e := range entries {
		name := strings.TrimSuffix(e.Name(), ".md")
		b, _ := references.Files.ReadFile(e.Name())
		s.addDocument("trainmedic://references/"+name, name, "text/markdown", string(b))
	}
	for _, name := range schemas.Names() {
		s.addDocument("trainmedic://schemas/"+name, name+".schema.json", "application/schema+json", string(schemas.Full(name)))
	}
	s.mcp.AddResourceTemplate(
		mcp.NewResourceTemplate(runScheme+"{id}", "result", mcp.WithTemplateTitle("A result of this server"),
			mcp.WithTemplateDescription("A whole diagnosis, or a whole result of which an answer held a part. The last 64 are kept."),
			mcp.WithTemplateMIMEType("application/json")),
		server.ResourceTemplateHandlerFunc(s.readRun))
}

func (s *Server) addDocument(uri, name, mime, text string) {
	s.mcp.AddResource(mcp.NewResource(uri, name, mcp.WithMIMEType(mime)),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: mime, Text: text}}, nil
		})
}

// readRun reads run://id.
func (s *Server) readRun(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	it, ok := s.store.get(runID(req.Params.URI))
	if !ok {
		return nil, fmt.Errorf("tools: %.80q: %w (the last %d results are kept)", req.Params.URI, server.ErrResourceNotFound, storeItems)
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, MIMEType: "application/json", Text: it.json}}, nil
}
