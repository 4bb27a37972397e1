package wandb

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/wandblog"
)

// The service gives at most pageRows rows of a range of steps; of more it gives a
// sample. So a page that is full may have left something out, and its range is
// asked for again in halves.
const (
	pageRows  = 1000
	lookPages = 50  // pages that one look gives
	maxPages  = 600 // and of a history that is read whole
)

const historyQuery = `query History($entity: String, $project: String!, $run: String!, $min: Int64!, $max: Int64!, $rows: Int!) {
  project(name: $project, entityName: $entity) { run(name: $run) { history(minStep: $min, maxStep: $max, samples: $rows) } }
}`

// Keys of the cursor.
const (
	keyHistory = "history"
	keyConsole = "console"
)

// pages is where the reading of a history stands.
type pages struct {
	Next   int64          `json:"next"`             // the first step that was not read
	Window int64          `json:"window,omitempty"` // steps that one page takes
	Row    int64          `json:"row,omitempty"`    // rows read
	Sample bool           `json:"sample,omitempty"` // the history is too long to be read whole
	Place  wandblog.Place `json:"place"`
}

// history reads the rows that are new, within the bounds of one look. What cannot
// be had is a gap: the state and the console may still be.
func (l *look) history(ctx context.Context) error {
	var p pages
	if text := l.since[keyHistory]; text == "" || json.Unmarshal([]byte(text), &p) != nil {
		p = pages{}
	}
	last := l.lastStep()
	l.plan(&p, last)
	rows := wandblog.Rows{Tracker: wandblog.Tracker(l.id), Place: p.Place}
	for n := 0; p.Next <= last; n++ {
		if n == lookPages {
			l.obs.More = true
			break
		}
		if err := l.page(ctx, &p, &rows, last); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			l.gap("the history from step "+strconv.FormatInt(p.Next, 10)+" on", reason(err), "the run's folder on its machine (wandb/run-…), or look again later")
			break
		}
	}
	if p.Sample && !l.obs.More {
		l.gap("some rows of the history", fmt.Sprintf("it has %d rows: at most %d of each %d steps were fetched, evenly", l.run.HistoryLineCount, pageRows, p.Window),
			"the run's folder on its machine (wandb/run-…), which is read whole")
	}
	p.Place = rows.Place
	l.obs.Samples = append(l.obs.Samples, rows.Samples...)
	b, err := json.Marshal(p)
	l.obs.Next[keyHistory] = string(b)
	return err
}

func reason(err error) string {
	if errors.Is(err, source.ErrUnreachable) || errors.Is(err, source.ErrDenied) {
		return "could not be fetched: " + err.Error()
	}
	return err.Error()
}

// lastStep is the highest _step that the service has, -1 for none.
func (l *look) lastStep() int64 {
	var keys struct {
		LastStep *int64 `json:"lastStep"`
	}
	text := l.run.HistoryKeys
	var inner string
	if json.Unmarshal(text, &inner) == nil { // a document in a text, or a document
		text = []byte(inner)
	}
	if json.Unmarshal(text, &keys) == nil && keys.LastStep != nil {
		return *keys.LastStep
	}
	n, err := doc.JSON([]byte(l.run.SummaryMetrics))
	if err != nil {
		return -1
	}
	if v, err := strconv.ParseFloat(n.Get("_step").Str(), 64); err == nil {
		return int64(v)
	}
	return l.run.HistoryLineCount - 1
}

// plan chooses how many steps a page takes, by how dense the rows lie.
func (l *look) plan(p *pages, last int64) {
	left := last - p.Next + 1
	rows := l.run.HistoryLineCount - p.Row
	if left <= 0 || p.Sample {
		return
	}
	if rows > l.most*pageRows {
		p.Sample, p.Window = true, (left+l.most-1)/l.most
		return
	}
	p.Window = left
	if rows > 0 {
		p.Window = max(1, int64(0.8*pageRows*float64(left)/float64(rows)))
	}
}

// page reads the next range of steps.
func (l *look) page(ctx context.Context, p *pages, rows *wandblog.Rows, last int64) error {
	end := min(p.Next+max(1, p.Window), last+1)
	got, err := l.rows(ctx, p.Next, end)
	if err != nil {
		return err
	}
	if len(got) >= pageRows && end-p.Next > 1 && !p.Sample {
		p.Window = max(1, (end-p.Next)/2)
		return l.page(ctx, p, rows, last)
	}
	if p.Sample {
		if got, err = l.closer(ctx, got, p.Next); err != nil {
			return err
		}
	}
	for _, text := range got {
		l.row(rows, p, text)
	}
	if p.Next = end; len(got) < pageRows/4 {
		p.Window = min(2*max(1, p.Window), math.MaxInt64/4)
	}
	return nil
}

func (l *look) rows(ctx context.Context, from, to int64) ([]string, error) {
	v, err := of[struct {
		History []string `json:"history"`
	}](ctx, l.service, historyQuery, map[string]any{"min": from, "max": to, "rows": pageRows})
	if err != nil {
		return nil, err
	}
	return v.History, nil
}

// closer puts all rows between the last sampled row that is finite and the first
// that is not in their place: that is where a run goes wrong.
func (l *look) closer(ctx context.Context, got []string, from int64) ([]string, error) {
	for i, text := range got {
		step, lost := peek(text)
		if !lost {
			from = step + 1
			continue
		}
		if step <= from || step-from > pageRows {
			return got, nil
		}
		between, err := l.rows(ctx, from, step)
		if err != nil {
			return nil, err
		}
		return append(append(append([]string(nil), got[:i]...), between...), got[i:]...), nil
	}
	return got, nil
}

// peek is the _step of a row, and whether a value of it is not finite.
func peek(text string) (step int64, lost bool) {
	var r wandblog.Rows
	n, err := doc.JSON([]byte(text))
	if err != nil {
		return 0, false
	}
	put(&r, n, run.Ref{})
	for _, s := range r.Samples {
		lost = lost || math.IsNaN(s.Value) || math.IsInf(s.Value, 0)
	}
	return r.Place.Call, lost
}

// row takes one row, a JSON document.
func (l *look) row(rows *wandblog.Rows, p *pages, text string) {
	n, err := doc.JSON([]byte(text))
	if err != nil {
		return
	}
	p.Row++
	put(rows, n, run.Ref{File: historyName, Offset: p.Row << 16})
}

func put(rows *wandblog.Rows, n *doc.Node, ref run.Ref) {
	for _, m := range n.Members() {
		ref = rows.Node(m.Key, m, ref)
		ref.Offset++
	}
	rows.End()
}
