package tools_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	failures "github.com/trainmedic/trainmedic/internal/failure/all"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/tools"
)

// endless is a target whose log fails early and never ends.
func endless() *source.Kind {
	return &source.Kind{
		Scheme: "endless", Type: "local-log", Example: "endless:", Doc: "a log without an end",
		Open: func(context.Context, string, source.Options) (source.Source, error) { return forever{}, nil },
	}
}

type forever struct{}

func (forever) Close() error { return nil }

func (forever) Observe(context.Context, run.Cursor) (run.Observation, error) {
	open := func(ctx context.Context) (io.ReadCloser, error) { return &stream{ctx: ctx}, nil }
	return run.Observation{Next: run.Cursor{}, Streams: []run.Stream{{Name: "run.log", Rank: run.NoRank, Kind: "log", Open: open}}}, nil
}

// stream ends only with its context.
type stream struct {
	ctx  context.Context
	said bool
}

func (s *stream) Close() error { return nil }

func (s *stream) Read(p []byte) (int, error) {
	if err := s.ctx.Err(); err != nil {
		return 0, err
	}
	text := strings.Repeat("waiting for "+strings.Repeat("aaaa", 100)+"\n", len(p)/413+1)
	if !s.said {
		s.said = true
		text = "step 1/10 loss=1.0\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n" + text
	}
	return copy(p, text), nil
}

func TestEveryToolEndsWithItsDeadline(t *testing.T) {
	for _, tc := range []struct {
		tool string
		args map[string]any
	}{
		{"tail_log", map[string]any{}},
		{"tail_log", map[string]any{"match": "(a|aa|aaa){1,50}b"}},
		{"tail_log", map[string]any{"around": 1 << 39}},
		{"extract_metrics", map[string]any{}},
		{"plan_recovery", map[string]any{}},
	} {
		c := dial(t, newServer(t, tools.Config{Deadline: 200 * time.Millisecond, Sources: source.Registry{endless()}})).hello()
		tc.args["target"] = "endless:"
		began := time.Now()
		if f := c.fails(tc.tool, tc.args); f.Kind != report.KindTimeout {
			t.Errorf("%s %v: want a timeout, got %+v", tc.tool, tc.args, f)
		}
		if d := time.Since(began); d > 5*time.Second {
			t.Errorf("%s %v: it took %v", tc.tool, tc.args, d)
		}
	}
}

// What a tool can say of a part, with a gap, it says.
func TestWhatWasReadInTimeIsJudged(t *testing.T) {
	book, err := failures.Book()
	if err != nil {
		t.Fatal(err)
	}
	kinds := source.Registry{endless()}
	c := dial(t, newServer(t, tools.Config{Deadline: 2 * time.Second, Sources: kinds, Doctor: &diagnose.Doctor{Book: book, Sources: kinds}})).hello()
	for _, tool := range []string{"check_failed_run", "classify_failure", "fetch_target"} {
		r := c.call(tool, map[string]any{"target": "endless:"})
		if text := r.Content[0].Text; r.IsError || !strings.Contains(text, "there was no time to read more") {
			t.Errorf("%s: %.2000s", tool, text)
		}
		if text := r.Content[0].Text; tool != "fetch_target" && !strings.Contains(text, `"primary_cause":"oom"`) {
			t.Errorf("%s: %.2000s", tool, text)
		}
	}
}

// A system call that does not come back cannot be ended: the answer comes all the same.
func TestWorkThatHangsIsLeftAlone(t *testing.T) {
	never := make(chan struct{})
	defer close(never)
	c := dial(t, newServer(t, tools.Config{
		Deadline: time.Millisecond, Farewell: time.Millisecond,
		Doctor: doctorFunc(func(context.Context) { <-never }),
	})).hello()
	if f := c.fails("check_failed_run", map[string]any{"target": "x.log"}); f.Kind != report.KindTimeout || !strings.Contains(f.Message, "network mount") {
		t.Errorf("want a timeout that says what hangs, got %+v", f)
	}
}

func TestAnExpressionThatCostsTooMuchIsRefused(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	log := trainLog(t, 3)
	for _, expr := range []string{"(.{100}){10}.{1000}.{1000}", strings.Repeat(".{1000}", 100), "a{1001}", "(((", strings.Repeat("(", 5000)} {
		if f := c.fails("tail_log", map[string]any{"target": log, "match": expr}); f.Kind != report.KindUsage {
			t.Errorf("%.40s: %+v", expr, f)
		}
	}
}
