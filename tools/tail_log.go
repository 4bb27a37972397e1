package tools

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// LogLines is the result of tail_log. A line whose end has not been written yet
// is given, and given again, whole, at the cursor.
type LogLines struct {
	Lines  []LogLine    `json:"lines"`
	Cursor string       `json:"cursor"`
	AtEnd  bool         `json:"at_end"`
	Cut    []report.Cut `json:"cut"`
}

// LogLine is one line, or Repeats equal ones in a row.
type LogLine struct {
	File       string `json:"file"`
	Line       int    `json:"line" jsonschema:"minimum=1"`
	ByteOffset int64  `json:"byte_offset" jsonschema:"minimum=0"`
	Text       string `json:"text"`
	Repeats    int    `json:"repeats" jsonschema:"minimum=1"`
}

const (
	defaultLines = 100
	maxLineText  = 1000 // characters of one line
)

func tailLog() *tool {
	return &tool{
		name: "tail_log", title: "Read a log", result: "tail_log",
		doc: "Lines of a log: the last ones, what is new since a cursor, those around a line number, or those that match. Progress bars are collapsed to their last state, repeats folded with a count.",
		args: object{
			"file":   text("Which log of the target, as fetch_target names it (the largest)."),
			"lines":  integer("How many lines (100).", 1, 10_000),
			"cursor": text("Go on where the last answer ended."),
			"around": integer("Line number to show the surroundings of.", 1, 1<<40),
			"match":  text("Only lines that match this RE2 expression."),
		},
		run: runTail,
	}
}

func runTail(ctx context.Context, s *Server, a args) (any, error) {
	w := &window{max: a.Lines, around: a.Around}
	if w.max == 0 {
		w.max = defaultLines
	}
	if a.Cursor != "" && a.Around > 0 {
		return nil, &badArgument{"both cursor and around are given", "Give one of them."}
	}
	var err error
	if w.match, err = pattern(a.Match); err != nil {
		return nil, err
	}
	if a.Cursor != "" {
		if w.from, err = parseCursor(a.Cursor); err != nil {
			return nil, err
		}
	}
	src, streams, err := s.open(ctx, a)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	st, err := pick(streams, a.File, w.from.File)
	if err != nil {
		return nil, err
	}
	if err := w.read(ctx, st); err != nil {
		return nil, fmt.Errorf("tools: read %s: %w", st.Name, err)
	}
	return w.result(), s.fitTail(w, a)
}

func pattern(expr string) (*regexp.Regexp, error) {
	if expr == "" {
		return nil, nil
	}
	parsed, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, &badArgument{"match: " + redact.Clip(err.Error(), 200), `Give an RE2 expression: no lookaround and no backreferences; (?i) ignores case, \Q...\E quotes.`}
	}
	if prog, err := syntax.Compile(parsed.Simplify()); err != nil || len(prog.Inst) > maxPattern {
		return nil, &badArgument{"match: the expression is too large", "Give a shorter one, with smaller counts in {}."}
	}
	return regexp.Compile(expr)
}

// maxPattern bounds what one line costs to match, in instructions.
const maxPattern = 2000

// open looks at the target without reading it.
func (s *Server) open(ctx context.Context, a args) (source.Source, []run.Stream, error) {
	if a.Text != "" {
		a.Target = "traceback:"
	}
	kind, ref, err := s.cfg.Sources.Resolve(a.Target)
	if err != nil {
		return nil, nil, err
	}
	src, err := kind.Open(ctx, ref, a.options())
	if err != nil {
		return nil, nil, err
	}
	o, err := src.Observe(ctx, nil)
	if err == nil && len(o.Streams) == 0 {
		err = fmt.Errorf("tools: %s holds no log%s: %w", a.Target, gapText(o.Gaps), source.ErrNoEvidence)
	}
	if err != nil {
		src.Close()
		return nil, nil, err
	}
	return src, o.Streams, nil
}

func gapText(gaps []run.Gap) string {
	if len(gaps) == 0 {
		return ""
	}
	return fmt.Sprintf(" (%s %s)", gaps[0].What, gaps[0].Why)
}

// pick finds the stream that is asked for: by the cursor, by name, or the
// largest log.
func pick(streams []run.Stream, name, cursorFile string) (*run.Stream, error) {
	var logs []*run.Stream
	for i := range streams {
		st := &streams[i]
		if st.Name == name || name == "" && st.Name == cursorFile {
			return st, nil
		}
		if name != "" && path.Base(st.Name) == name || name == "" && (st.Kind == "" || st.Kind == "log") {
			logs = append(logs, st)
		}
	}
	if name == "" && len(logs) == 0 {
		logs = append(logs, &streams[0])
	}
	switch {
	case name == "":
		return slices.MaxFunc(logs, func(a, b *run.Stream) int { return int(min(max(a.Size-b.Size, -1), 1)) }), nil
	case len(logs) == 1:
		return logs[0], nil
	}
	var names []string
	for _, st := range streams {
		names = append(names, strconv.Quote(st.Name))
	}
	return nil, &badArgument{fmt.Sprintf("file: %q names %d files of the target", redact.Clip(name, 80), len(logs)), "Give one of: " + redact.Clip(strings.Join(names, ", "), 1000)}
}

// fitTail bounds the lines: the oldest of the last lines go, or the newest of
// those since a cursor, which then are the next to come. One line stays, in part
// if need be, so that there is a way on.
func (s *Server) fitTail(w *window, a args) error {
	r := w.out
	all, end, cursor := r.Lines, r.AtEnd, r.Cursor
	from := func(n int) int { return len(all) - n } // the first line that stays
	if a.Cursor != "" || a.Around > 0 {
		from = func(int) int { return 0 }
	}
	list := report.List{Field: "lines", Len: len(all), Keep: func(n int) {
		part := n == 0
		n = max(n, 1)
		at := from(n)
		r.Lines, r.AtEnd, r.Cursor = all[at:at+n:at+n], end, cursor
		if part {
			l := all[at]
			l.File, l.Text = redact.Clip(l.File, a.MaxBytes/16), redact.Clip(l.Text, a.MaxBytes/8)
			r.Lines = []LogLine{l}
		}
		if a.Cursor != "" && n < len(all) {
			r.AtEnd, r.Cursor = false, cursorAt(all[n]).String()
		}
	}}
	return s.fit(r, "Lines of "+run.Name(redact.Clip(w.name, 80)), a, &r.Cut, list)
}
