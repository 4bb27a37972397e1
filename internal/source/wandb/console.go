package wandb

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

const (
	linesPage = 5000
	tailLines = 10_000
	maxText   = 32 << 20 // of console output that one look gives
)

const (
	lineFields   = `edges { node { number line } }`
	consoleQuery = `query Console($entity: String, $project: String!, $run: String!, $first: Int!, $after: String) {
  project(name: $project, entityName: $entity) { run(name: $run) {
    logLines(first: $first, after: $after, useImprovedPagination: true) { ` + lineFields + ` pageInfo { hasNextPage endCursor } }
  } }
}`
	tailQuery = `query ConsoleTail($entity: String, $project: String!, $run: String!, $last: Int!) {
  project(name: $project, entityName: $entity) { run(name: $run) { logLines(last: $last) { ` + lineFields + ` } } }
}`
)

// lines is where the reading of the console output stands.
type lines struct {
	After string `json:"after,omitempty"` // the service's cursor
	Line  int64  `json:"line"`            // lines given
	Bytes int64  `json:"bytes"`
	Old   bool   `json:"old,omitempty"` // the server gives no pages
}

type linesAnswer struct {
	LogLines struct {
		Edges []struct {
			Node struct {
				Number int64  `json:"number"`
				Line   string `json:"line"`
			} `json:"node"`
		} `json:"edges"`
		PageInfo struct {
			HasNextPage bool   `json:"hasNextPage"`
			EndCursor   string `json:"endCursor"`
		} `json:"pageInfo"`
	} `json:"logLines"`
}

// console gives the lines that are new, as the log of the run.
func (l *look) console(ctx context.Context) error {
	var p lines
	if text := l.since[keyConsole]; text == "" || json.Unmarshal([]byte(text), &p) != nil {
		p = lines{}
	} else if !l.watch { // a check reads the output as one
		l.obs.Next[keyConsole] = text
		return nil
	}
	before := p.Bytes
	text, more, err := l.newLines(ctx, &p)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		l.gap("the console output", reason(err), "files/output.log of the run's folder, or look again later")
	}
	l.obs.More = l.obs.More || more
	if len(text) > 0 {
		l.obs.Streams = append(l.obs.Streams, run.Stream{
			Name: consoleName, Rank: run.NoRank, Kind: "log", Size: int64(len(text)), Offset: before, FirstLine: max(1, int(p.Line)-strings.Count(text, "\n")+1),
			Open: func(ctx context.Context) (io.ReadCloser, error) {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				return io.NopCloser(strings.NewReader(text)), nil
			},
		})
	}
	p.Bytes = before + int64(len(text))
	b, err := json.Marshal(p)
	l.obs.Next[keyConsole] = string(b)
	return err
}

// newLines fetches page after page; a server that knows no pages is asked for its
// last lines. A check reads the output as one.
func (l *look) newLines(ctx context.Context, p *lines) (text string, more bool, err error) {
	var b strings.Builder
	for !p.Old {
		a, err := of[linesAnswer](ctx, l.service, consoleQuery, map[string]any{"first": linesPage, "after": after(p.After)})
		if _, unknown := err.(*queryError); unknown && p.After == "" { //nolint:errorlint // ask wraps none
			p.Old = true
			break
		}
		if err != nil {
			return b.String(), false, err
		}
		l.take(&b, a, p)
		if end := a.LogLines.PageInfo.EndCursor; end != "" {
			p.After = end
		}
		if len(a.LogLines.Edges) == 0 || !a.LogLines.PageInfo.HasNextPage {
			return b.String(), false, nil
		}
		if b.Len() >= maxText {
			if !l.watch {
				l.gap("the rest of the console output", fmt.Sprintf("only its first %d lines were fetched", p.Line), "files/output.log of the run's folder")
			}
			return b.String(), l.watch, nil
		}
	}
	a, err := of[linesAnswer](ctx, l.service, tailQuery, map[string]any{"last": tailLines})
	if err != nil {
		return "", false, err
	}
	if e := a.LogLines.Edges; len(e) > 0 && e[0].Node.Number > p.Line {
		l.gap("console output before line "+fmt.Sprint(e[0].Node.Number+1), "this server gives the last lines only", "files/output.log of the run's folder")
		if p.Line == 0 {
			p.Line = e[0].Node.Number
		}
	}
	l.take(&b, a, p)
	return b.String(), false, nil
}

func after(cursor string) any {
	if cursor == "" {
		return nil
	}
	return cursor
}

// take adds the lines that were not given yet.
func (l *look) take(b *strings.Builder, a *linesAnswer, p *lines) {
	for _, e := range a.LogLines.Edges {
		if e.Node.Number < p.Line {
			continue
		}
		b.WriteString(strings.TrimRight(e.Node.Line, "\n") + "\n")
		p.Line = e.Node.Number + 1
	}
}
