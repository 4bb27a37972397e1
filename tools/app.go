package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/page"
)

// maxReport bounds the report that an answer brings along for the app; without
// it the app shows the words of the answer.
const maxReport = 512 << 10

// addApp offers the document in which a host shows the report.
func (s *Server) addApp() {
	s.mcp.AddResource(mcp.NewResource(page.AppURI, "report", mcp.WithMIMEType(page.AppMIME)),
		func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
			text, err := page.App()
			if err != nil {
				return nil, fmt.Errorf("tools: %w", err)
			}
			return []mcp.ResourceContents{mcp.TextResourceContents{
				URI: req.Params.URI, MIMEType: page.AppMIME, Text: text, Meta: object{"ui": object{"prefersBorder": true}},
			}}, nil
		})
}

// appReport is the report as HTML where the client shows apps, else "".
func appReport(ctx context.Context, res *diagnose.Result) string {
	if !showsApps(capabilities(ctx)) {
		return ""
	}
	html, err := page.Report(res.Diagnosis, res.File.Series)
	if err != nil || len(html) > maxReport {
		return ""
	}
	return html
}

// showsApps reports whether a client said that it shows apps of our type.
func showsApps(c mcp.ClientCapabilities) bool {
	var ui struct {
		MIMETypes []string `json:"mimeTypes"`
	}
	if json.Unmarshal(mustJSON(c.Extensions[page.AppExtension]), &ui) != nil {
		return false
	}
	return slices.Contains(ui.MIMETypes, page.AppMIME)
}
