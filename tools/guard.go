package tools

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/transport"
)

// guard stands before every tool: it validates the arguments, sets the
// deadline, and turns whatever goes wrong into the error envelope.
func (s *Server) guard(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, req mcp.CallToolRequest) (res *mcp.CallToolResult, err error) {
		t := s.tools[req.Params.Name]
		if t == nil {
			return next(ctx, req)
		}
		began, client := time.Now(), ctx
		if s.cfg.Observe != nil {
			var end func(string)
			ctx, end = s.cfg.Observe(ctx, t.name, traceparent(req))
			defer func() { end(kindOf(res)) }()
		}
		defer func() { s.note(client, t.name, time.Since(began), complaint(res)) }()
		defer t.answerPanic(&res, &err)
		if f := t.reject(req); f != nil {
			return failure(*f), nil
		}
		if dir := req.GetString("out_dir", ""); dir != "" {
			if err := s.cfg.Roots.Check(dir); err != nil {
				return failure(s.explain(err)), nil
			}
		}
		ctx, unbind := transport.Bound(ctx)
		defer unbind()
		ctx, cancel := context.WithTimeout(ctx, s.cfg.Deadline+t.patience(req))
		defer cancel()
		if !t.watches && !t.bare {
			defer s.pulse(ctx, req)()
		}
		if t.acts { // what is being done is not left alone
			res, err = next(ctx, req)
		} else {
			res, err = s.within(ctx, t, func() (*mcp.CallToolResult, error) { return next(ctx, req) })
		}
		if err != nil {
			return failure(s.explain(err)), nil
		}
		return res, nil
	}
}

// reject says what is wrong with the arguments, nil if nothing is.
func (t *tool) reject(req mcp.CallToolRequest) *report.Failure {
	f := &report.Failure{Kind: report.KindUsage, Ask: "Arguments of " + t.name + ": " + strings.Join(t.names(), ", ") + "."}
	args := req.GetArguments()
	if args == nil && req.Params.Arguments != nil {
		f.Message = "arguments: want an object"
		return f
	}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(t.names(), name) {
			f.Message = fmt.Sprintf("unknown argument %.60q%s", name, didYouMean(name, t.names()))
			return f
		}
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(mustJSON(args)))
	if args == nil {
		doc = object{}
	}
	if err == nil {
		err = t.validator.Validate(doc)
	}
	if err != nil {
		f.Message = schemaMessage(err)
		return f
	}
	switch {
	case t.bare:
		return nil
	case t.watches:
		return oneWatch(args)
	}
	return oneRun(args)
}

func said(v any) bool { s, ok := v.(string); return ok && strings.TrimSpace(s) != "" }

// oneWatch wants a run or the watch of one.
func oneWatch(args map[string]any) *report.Failure {
	target, id := said(args["target"]), said(args["monitor_id"])
	switch {
	case target && id:
		return &report.Failure{Kind: report.KindUsage, Message: "both target and monitor_id are given", Ask: "Give target to start a watch, or monitor_id to go on with one."}
	case !target && !id:
		return &report.Failure{Kind: report.KindUsage, Message: "neither target nor monitor_id is given", Ask: "Ask for the path of the run's log or directory, or for its PID (target)."}
	}
	return nil
}

// oneRun wants exactly one of target and text: hosts refuse a schema that says so.
func oneRun(args map[string]any) *report.Failure {
	target, text := said(args["target"]), said(args["text"])
	switch {
	case target && text:
		return &report.Failure{Kind: report.KindUsage, Message: "both target and text are given", Ask: "Give target for a run, or text for a pasted log, not both."}
	case !target && !text:
		return &report.Failure{Kind: report.KindUsage, Message: "neither target nor text is given", Ask: "Ask for the path of the run's log or directory (target), or for the pasted error (text)."}
	}
	return nil
}

func (t *tool) names() []string {
	props, _ := t.input["properties"].(object)
	return slices.Sorted(maps.Keys(props))
}

// schemaMessage is the list of complaints without the validator's heading.
func schemaMessage(err error) string {
	_, complaints, ok := strings.Cut(err.Error(), "\n")
	if !ok {
		return err.Error()
	}
	complaints = strings.ReplaceAll(strings.TrimPrefix(complaints, "- "), "\n- ", "; ")
	return redact.Clip(strings.ReplaceAll(complaints, "at '/", "argument '"), 500)
}

// didYouMean names the argument that was probably meant.
func didYouMean(name string, names []string) string {
	best, least := "", 3
	for _, n := range names {
		d := distance(strings.ToLower(name), n)
		if strings.Contains(strings.ToLower(name), n) || len(name) > 2 && strings.Contains(n, strings.ToLower(name)) {
			d = 1
		}
		if d < least {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// distance is how many letters have to change to make a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}

const askReport = "This is a bug in trainmedic; report the message with the version."

// explain turns an error into the envelope: the one place where advice is chosen.
func (s *Server) explain(err error) report.Failure {
	f := report.Failure{Kind: report.KindInternal, Message: redact.Clip(err.Error(), 1000), Ask: askReport}
	var bad *badArgument
	switch {
	case errors.As(err, &bad):
		f.Kind, f.Message, f.Ask = report.KindUsage, redact.Clip(bad.message, 500), bad.ask
	case errors.Is(err, context.DeadlineExceeded):
		f.Kind, f.Ask = report.KindTimeout, "Try again with last=500, or with a smaller file of the run."
	case errors.Is(err, context.Canceled):
		f.Kind, f.Ask = report.KindCancelled, "Call again if the answer is still wanted."
	case errors.Is(err, source.ErrBadTarget):
		f.Kind, f.Ask = report.KindBadTarget, "A target is one of: "+strings.Join(s.cfg.Sources.Forms(), " · ")
	case errors.Is(err, source.ErrNotFound):
		f.Kind, f.Ask = report.KindNotFound, "Ask for the right path, or give the directory that holds the log."
	case errors.Is(err, source.ErrDenied):
		f.Kind, f.Ask = report.KindDenied, "Ask for a readable copy of the log's last 500 lines."
	case errors.Is(err, source.ErrUnreachable):
		f.Kind, f.Ask = report.KindUnreachable, "Ask whether the host or service answers, or for a copy of the log."
	case errors.Is(err, source.ErrNoEvidence):
		f.Kind, f.Ask = report.KindNoEvidence, "Ask for the run's log (standard output and error) or the directory it was written to."
	}
	if a, ok := errors.AsType[*source.Advice](err); ok {
		f.Ask = a.Ask
	}
	return f
}

// badArgument is an argument that is well-formed but means nothing here.
type badArgument struct{ message, ask string }

func (b *badArgument) Error() string { return b.message }

// failure is an isError result: the envelope as text and no structured content.
func failure(f report.Failure) *mcp.CallToolResult {
	b, err := report.Compact(report.ErrorEnvelope{Error: f})
	if err != nil {
		b = []byte(`{"error":{"kind":"internal","message":"unprintable error","ask":""}}`)
	}
	return mcp.NewToolResultError(string(b))
}

// complaint is the text of a result that is an error, "" of one that is not.
func complaint(res *mcp.CallToolResult) string {
	if res == nil || !res.IsError || len(res.Content) == 0 {
		return ""
	}
	text, _ := mcp.AsTextContent(res.Content[0])
	if text == nil {
		return "an error"
	}
	return text.Text
}

// kindOf is "ok" or the kind of the error of a result.
func kindOf(res *mcp.CallToolResult) string {
	text := complaint(res)
	if text == "" {
		return "ok"
	}
	var e report.ErrorEnvelope
	if json.Unmarshal([]byte(text), &e) != nil || e.Error.Kind == "" {
		return string(report.KindInternal)
	}
	return string(e.Error.Kind)
}

// traceparent is the span of the caller, "" where it named none.
func traceparent(req mcp.CallToolRequest) string {
	if req.Params.Meta == nil {
		return ""
	}
	s, _ := req.Params.Meta.AdditionalFields["traceparent"].(string)
	return s
}

// success carries the same JSON twice: some hosts show their model the one,
// some the other.
func success(v any) (*mcp.CallToolResult, error) {
	b, err := report.Compact(v)
	if err != nil {
		return nil, fmt.Errorf("tools: result: %w", err)
	}
	res := mcp.NewToolResultStructured(json.RawMessage(b), string(b))
	if p, ok := v.(interface{ picture() []byte }); ok && p.picture() != nil {
		res.Content = append(res.Content, mcp.NewImageContent(base64.StdEncoding.EncodeToString(p.picture()), "image/png"))
	}
	if m, ok := v.(interface{ meta() object }); ok && m.meta() != nil {
		res.Meta = mcp.NewMetaFromMap(m.meta())
	}
	return res, nil
}
