// Package transport is how clients reach an MCP server: standard input and
// output, streamable HTTP, and the older HTTP with SSE. Whatever the way, what a
// call tells its client comes before its answer, it ends when its client is gone,
// and when the server has to end, calls that only
// wait are asked to answer at once with what they know.
package transport

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/server"

	"github.com/trainmedic/trainmedic/internal/door"
)

// grace is how long calls may go on to their answer once the client has closed
// its end (a script pipes its requests and does not wait) or the server has to end.
const grace = 5 * time.Second

// workers is how many calls of a stdio client run side by side.
const workers = 64

// Service is an MCP server with its clients.
type Service struct {
	mcp    *server.MCPServer
	ending context.Context // of all that wait; not a parent of any call
	end    context.CancelFunc
}

// New gives the transports of a server.
func New(m *server.MCPServer) *Service {
	s := &Service{mcp: m}
	s.ending, s.end = context.WithCancel(context.Background())
	return s
}

// Waiting is ctx for a call that only waits for news: it also ends when the
// server has to end, soon enough to answer.
func (s *Service) Waiting(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.ending, cancel)
	return ctx, func() { stop(); cancel() }
}

// Ending reports whether the server has to end.
func (s *Service) Ending() bool { return s.ending.Err() != nil }

// Caller is who calls over a network, "" when nobody knows since no token is
// wanted. network is false over standard input and output.
func Caller(ctx context.Context) (who string, network bool) { return door.Caller(ctx) }

// Bound is ctx for a call: it also ends when the stream on which its answer
// would go is gone.
func Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	st, ok := ctx.Value(streamKey{}).(*stream)
	if !ok {
		return ctx, cancel
	}
	stop := context.AfterFunc(st.alive, cancel)
	return ctx, func() { stop(); cancel() }
}
