package tools_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/page"
	"github.com/trainmedic/trainmedic/tools"
)

// TestTheReportComesBesideTheAnswerForApps: only to a client that shows apps, and
// beside what the model reads.
func TestTheReportComesBesideTheAnswerForApps(t *testing.T) {
	for name, tc := range map[string]struct {
		capabilities map[string]any
		want         bool
	}{
		"a host that shows apps":  {map[string]any{"extensions": map[string]any{page.AppExtension: map[string]any{"mimeTypes": []string{page.AppMIME}}}}, true},
		"of another type":         {map[string]any{"extensions": map[string]any{page.AppExtension: map[string]any{"mimeTypes": []string{"text/uri-list"}}}}, false},
		"without types":           {map[string]any{"extensions": map[string]any{page.AppExtension: map[string]any{}}}, false},
		"a host that shows none":  {map[string]any{}, false},
		"an extension that is no": {map[string]any{"extensions": map[string]any{page.AppExtension: 7}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			c := dial(t, newServer(t, tools.Config{}))
			c.request("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": tc.capabilities, "clientInfo": map[string]any{"name": "test", "version": "1"}})
			c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
			a := c.request("tools/call", map[string]any{"name": "check_failed_run", "arguments": map[string]any{"target": trainLog(t, 300)}})
			var r struct {
				Meta    map[string]string `json:"_meta"`
				Content []struct{ Text string }
			}
			if err := json.Unmarshal(a.Result, &r); err != nil || len(r.Content) != 1 || strings.Contains(r.Content[0].Text, "<svg") {
				t.Fatalf("%v: %s", err, a.Result)
			}
			if report := r.Meta[page.ReportKey]; strings.Contains(report, "<svg") != tc.want || strings.Contains(report, "<script") {
				t.Errorf("the report has %d bytes", len(report))
			}
		})
	}
}

func TestTheAppIsAResource(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	var r struct {
		Contents []struct{ URI, MIMEType, Text string }
	}
	if err := json.Unmarshal(c.request("resources/read", map[string]any{"uri": page.AppURI}).Result, &r); err != nil || len(r.Contents) != 1 {
		t.Fatalf("%v: %+v", err, r)
	}
	if got := r.Contents[0]; got.URI != page.AppURI || got.MIMEType != page.AppMIME || !strings.HasPrefix(got.Text, "<!doctype html>") {
		t.Errorf("%.200v", got)
	}
}
