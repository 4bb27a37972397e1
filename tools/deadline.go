package tools

import (
	"context"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/trainmedic/trainmedic/internal/report"
)

// patience is how long a call waits because its client wants it to, beside what
// the work may take.
func (t *tool) patience(req mcp.CallToolRequest) time.Duration {
	if _, waits := t.args["wait_seconds"]; !waits {
		return 0
	}
	seconds := req.GetInt("wait_seconds", usualWait)
	most := longestWait
	if req.Params.Meta != nil && req.Params.Meta.ProgressToken != nil {
		most = patientWait
	}
	return time.Duration(max(0, min(seconds, most))) * time.Second
}

// within gives what work gives, or, some time after ctx has ended, says that it
// hangs: the system does not interrupt a read from a dead network mount. Such work
// is left alone and ends when the system lets it go.
func (s *Server) within(ctx context.Context, t *tool, work func() (*mcp.CallToolResult, error)) (*mcp.CallToolResult, error) {
	type answer struct {
		res *mcp.CallToolResult
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() { done <- a }()
		defer t.answerPanic(&a.res, &a.err)
		a.res, a.err = work()
	}()
	select {
	case a := <-done:
		return a.res, a.err
	case <-ctx.Done():
	}
	select {
	case a := <-done:
		return a.res, a.err
	case <-time.After(s.cfg.Farewell):
		return nil, fmt.Errorf("tools: %s: the system does not give back what was read (a network mount that is gone?): %w", t.name, ctx.Err())
	}
}

// answerPanic makes an answer of a panic.
func (t *tool) answerPanic(res **mcp.CallToolResult, err *error) {
	if p := recover(); p != nil {
		*res, *err = failure(report.Failure{Kind: report.KindInternal, Message: fmt.Sprintf("%s: panic: %v", t.name, p), Ask: askReport}), nil
	}
}
