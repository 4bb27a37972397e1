package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// teller is where a call tells its client something: where its answer will go.
type teller interface{ tell(message []byte) }

type tellerKey struct{}

// Tell sends a notification of a call to its client, ahead of the answer and on
// the same stream. The library would put it on any stream of the session, where a
// client may get it after the answer, or lose it with another call's.
func (s *Service) Tell(ctx context.Context, method string, params map[string]any) {
	t, ok := ctx.Value(tellerKey{}).(teller)
	if !ok { // a transport that is none of ours
		_ = s.mcp.SendNotificationToClient(ctx, method, params) // a client that is gone shows in ctx
		return
	}
	b, err := json.Marshal(map[string]any{"jsonrpc": mcp.JSONRPC_VERSION, "method": method, "params": params})
	if err == nil && ctx.Err() == nil {
		t.tell(b)
	}
}

// Log tells a client of something, if it wants to know of its level.
func (s *Service) Log(ctx context.Context, level mcp.LoggingLevel, logger string, data any) {
	if wantsLog(ctx, level) {
		s.Tell(ctx, "notifications/message", map[string]any{"level": level, "logger": logger, "data": data})
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

// reply is the answer to a request. The library sends one message, or begins a
// stream of events; it may find that a call began the stream already.
type reply struct {
	http.ResponseWriter

	mu     sync.Mutex
	begun  bool // the header is out
	events bool // what goes out is a stream of events
	single bool // the library sends a message that it believes to be alone
	over   bool
}

func (r *reply) isEvents() bool {
	return strings.HasPrefix(r.Header().Get("Content-Type"), "text/event-stream")
}

// WriteHeader implements http.ResponseWriter.
func (r *reply) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.begun {
		r.single = r.events && !r.isEvents()
		return
	}
	r.begun, r.events = true, r.isEvents()
	r.ResponseWriter.WriteHeader(status)
}

func (r *reply) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.single {
		return len(b), event(r.ResponseWriter, b)
	}
	if !r.begun {
		r.begun, r.events = true, r.isEvents()
	}
	return r.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (r *reply) Flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	flush(r.ResponseWriter)
}

// Unwrap is for http.ResponseController.
func (r *reply) Unwrap() http.ResponseWriter { return r.ResponseWriter }

func (r *reply) tell(message []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over || r.begun && !r.events {
		return
	}
	if !r.begun {
		r.begun, r.events = true, true
		r.Header().Set("Content-Type", "text/event-stream")
		r.Header().Set("Cache-Control", "no-cache")
		r.ResponseWriter.WriteHeader(http.StatusOK)
	}
	if event(r.ResponseWriter, message) == nil {
		flush(r.ResponseWriter)
	}
}

// end is called when the request is over; nothing is told after it.
func (r *reply) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
}

// event writes a message as an event.
func event(w http.ResponseWriter, message []byte) error {
	_, err := fmt.Fprintf(w, "event: message\ndata: %s\n\n", bytes.TrimSpace(message))
	return err
}

func flush(w http.ResponseWriter) { _ = http.NewResponseController(w).Flush() } // a client that is gone shows in the context
