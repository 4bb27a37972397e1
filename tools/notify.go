package tools

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/transport"
)

// note tells a client that asked for logs how a call went: info when it went
// well, warning when it did not. Nothing of the run is in it.
func (s *Server) note(ctx context.Context, tool string, took time.Duration, failed string) {
	n := mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "trainmedic", map[string]any{"tool": tool, "seconds": took.Round(time.Millisecond).Seconds()})
	if failed != "" {
		n.Params.Level = mcp.LoggingLevelWarning
		n.Params.Data = map[string]any{"tool": tool, "error": redact.Clip(failed, statusBytes)}
	}
	if ctx.Err() != nil || !wantsLog(ctx, n.Params.Level) {
		return
	}
	if s.mcp.SendLogMessageToClient(ctx, n) == nil {
		transport.Settle(ctx)
	}
}

// wantsLog reports whether the client set a level that includes this one.
func wantsLog(ctx context.Context, level mcp.LoggingLevel) bool {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		return info.LogLevel != "" && level.ShouldSendTo(info.LogLevel)
	}
	l, ok := server.ClientSessionFromContext(ctx).(server.SessionWithLogging)
	return ok && level.ShouldSendTo(l.GetLogLevel())
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
	// a client that went away shows in ctx; nothing else can be done about it
	_ = s.mcp.SendNotificationToClient(ctx, "notifications/progress", map[string]any{"progressToken": token, "progress": n, "message": redact.Clip(line, statusBytes)})
	transport.Settle(ctx)
}
