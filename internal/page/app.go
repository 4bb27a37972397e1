package page

import (
	"bytes"
	"fmt"
	"html/template"
)

// The names by which hosts and servers agree on apps in a chat (MCP Apps,
// specification of 2026-01-26).
const (
	AppExtension = "io.modelcontextprotocol/ui"
	AppMIME      = "text/html;profile=mcp-app"
	AppURI       = "ui://trainmedic/report"
	// ReportKey is where, in the _meta of a result, the app finds the report.
	ReportKey = "trainmedic/report"
)

// App is the document that a host shows beside the answer of a tool. It has no
// data of its own: it shows the report that the answer brings along, else the
// words of the answer.
func App() (string, error) {
	t, err := forms()
	if err != nil {
		return "", fmt.Errorf("page: %w", err)
	}
	script, err := files.ReadFile("app.js")
	if err != nil {
		return "", fmt.Errorf("page: %w", err)
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, "app.html", struct {
		Style  template.CSS
		Script template.JS
	}{style(), template.JS(script)}); err != nil {
		return "", fmt.Errorf("page: %w", err)
	}
	return b.String(), nil
}
