package tools

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/trainmedic/trainmedic/internal/redact"
)

// note tells a client that asked for logs how a call went: info when it went
// well, warning when it did not. Nothing of the run is in it.
func (s *Server) note(ctx context.Context, tool string, took time.Duration, failed string) {
	if failed != "" {
		s.way.Log(ctx, mcp.LoggingLevelWarning, "trainmedic", map[string]any{"tool": tool, "error": redact.Clip(failed, statusBytes)})
		return
	}
	s.way.Log(ctx, mcp.LoggingLevelInfo, "trainmedic", map[string]any{"tool": tool, "seconds": took.Round(time.Millisecond).Seconds()})
}

// pulse tells a client that asked for progress, as long as a call lasts, that it
// still does. The caller calls stop.
func (s *Server) pulse(ctx context.Context, req mcp.CallToolRequest) (stop func()) {
	if req.Params.Meta == nil || req.Params.Meta.ProgressToken == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(s.cfg.Pulse)
		defer t.Stop()
		for n := 1; ; n++ {
			select {
			case <-t.C:
				s.tellProgress(ctx, req.Params.Meta.ProgressToken, n, req.Params.Name+": reading the run")
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// tellProgress sends one notification of progress.
func (s *Server) tellProgress(ctx context.Context, token mcp.ProgressToken, n int, line string) {
	s.way.Tell(ctx, "notifications/progress", map[string]any{"progressToken": token, "progress": n, "message": redact.Clip(line, statusBytes)})
}
