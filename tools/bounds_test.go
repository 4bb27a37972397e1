package tools_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/failure/all"
	"github.com/trainmedic/trainmedic/internal/report"
	sources "github.com/trainmedic/trainmedic/internal/source/all"
	"github.com/trainmedic/trainmedic/tools"
)

// hugeRun is a folder in which everything is too much: names, metrics, settings,
// checkpoints, ranks, errors, and lines that hardly end.
func hugeRun(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("ü\"\\<", 60)
	var log strings.Builder
	for step := range 300 {
		fmt.Fprintf(&log, "step %d/100000 loss=%.4f", step, 5-float64(step)/300)
		for m := range 8 {
			fmt.Fprintf(&log, " train/group_%d/%s_%d=%d.5", step, strings.Repeat("metric", 8), m, step)
		}
		log.WriteString("\n")
		if step%75 == 0 {
			fmt.Fprintf(&log, "ERROR %s step %d %s\n", long, step, strings.Repeat("€", 70_000))
			fmt.Fprintf(&log, "Traceback (most recent call last):\n  File \"%s.py\", line %d, in f%d\n    raise\nRuntimeError: CUDA out of memory. Tried to allocate %d.00 GiB %s\n", long, step, step, step, strings.Repeat("x", 20_000))
		}
	}
	for rank := range 6 {
		put(fmt.Sprintf("logs/%s-rank%d.log", strings.Repeat("n", 180), rank), log.String()[:20_000]+fmt.Sprintf("[rank%d]: RuntimeError: NCCL error %s\n", rank, long))
	}
	put("train.log", log.String())
	settings := map[string]any{}
	for i := range 1000 {
		settings[fmt.Sprintf("setting_%d_%s", i, strings.Repeat("s", 60))] = long
	}
	b, err := json.Marshal(settings)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 30 {
		put(fmt.Sprintf("conf/%s%d.json", strings.Repeat("c", 150), i), string(b[:min(len(b), 50_000)]))
		put(fmt.Sprintf("checkpoints/%s/step_%d.pt", strings.Repeat("k", 150), i), "PK\x03\x04 torn")
	}
	return dir
}

// TestNothingIsTooMuch: whatever a target holds, the answer of each tool stays
// below its bound, is valid, and names where the rest is; the rest is there.
func TestNothingIsTooMuch(t *testing.T) {
	book, err := all.Book()
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, newServer(t, tools.Config{Doctor: &diagnose.Doctor{Book: book, Sources: sources.Kinds()}})).hello()
	dir := hugeRun(t)
	text, err := os.ReadFile(filepath.Join(dir, "train.log"))
	if err != nil {
		t.Fatal(err)
	}
	for tool, schema := range resultSchemas {
		for name, args := range map[string]map[string]any{
			"folder": {"target": dir}, "least": {"target": dir, "max_bytes": 2000}, "text": {"text": string(text)},
		} {
			t.Run(tool+" "+name, func(t *testing.T) {
				more := map[string]any{}
				switch tool {
				case "tail_log":
					more["lines"] = 10_000
				case "extract_metrics":
					more["points"] = 4096
				}
				maps.Copy(more, args)
				r := c.call(tool, more)
				if r.IsError {
					t.Fatal(r.Content[0].Text)
				}
				most := 32 << 10
				if n, ok := args["max_bytes"].(int); ok {
					most = n
				}
				if n := len(r.Content[0].Text); n > most {
					t.Errorf("%d bytes, the bound is %d: %.300s … %s", n, most, r.Content[0].Text, r.Content[0].Text[n-300:])
				}
				checkResult(t, schema, r)
				checkCuts(t, c, r)
			})
		}
	}
	for _, args := range []map[string]any{{"target": dir, "once": true}, {"target": dir, "once": true, "max_bytes": 2000, "interval": 2}} {
		v, r := monitorRun(t, c, args)
		most := 32 << 10
		if n, ok := args["max_bytes"].(int); ok {
			most = n
		}
		if n := len(r.Content[0].Text); n > most || v.Artifact == nil {
			t.Errorf("monitor_run: %d bytes, the bound is %d", n, most)
		}
	}
	if a := c.request("resources/list", map[string]any{}); len(a.Result) > 40<<10 {
		t.Errorf("resources/list has %d bytes", len(a.Result))
	}
}

// checkCuts wants the whole of what was cut where the answer says.
func checkCuts(t *testing.T, c *client, r result) {
	t.Helper()
	var v struct {
		Cut []report.Cut `json:"cut"`
	}
	if err := json.Unmarshal(r.StructuredContent, &v); err != nil {
		t.Fatal(err)
	}
	var read []string
	for _, cut := range v.Cut {
		if cut.Kept >= cut.Total && cut.Total > 0 {
			t.Errorf("nothing was cut: %+v", cut)
		}
		if cut.URI == "" || slices.Contains(read, cut.URI) {
			continue
		}
		read = append(read, cut.URI)
		if a := c.request("resources/read", map[string]any{"uri": cut.URI}); a.Error != nil || len(a.Result) < 2000 {
			t.Errorf("the rest of %s is not at %s: %d bytes, %+v", cut.Field, cut.URI, len(a.Result), a.Error)
		}
	}
}

// TestEvenTheWholeIsBounded: ten thousand long lines are more than the server
// keeps; what it keeps of them can be read.
func TestEvenTheWholeIsBounded(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	log := write(t, "run.log", strings.Repeat(strings.Repeat("€", 1500)+"x\n"+strings.Repeat("é", 1500)+"\n", 1600))
	r := c.call("tail_log", map[string]any{"target": log, "lines": 10_000})
	var v tools.LogLines
	if err := json.Unmarshal(r.StructuredContent, &v); err != nil {
		t.Fatal(err)
	}
	if n := len(r.Content[0].Text); n > 32<<10 || len(v.Lines) == 0 || len(v.Cut) != 1 {
		t.Fatalf("%d bytes, %d lines, %+v", n, len(v.Lines), v.Cut)
	}
	checkCuts(t, c, r)
}

// TestALogIsReadToItsEndInPieces: with the cursor of each answer the next goes
// on, and all lines come once, however small the pieces.
func TestALogIsReadToItsEndInPieces(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	log := write(t, "run.log", "line 1\n")
	tail := func(args map[string]any) (v tools.LogLines) {
		r := c.call("tail_log", args)
		if n := len(r.Content[0].Text); n > 2000 {
			t.Fatalf("%d bytes", n)
		}
		if err := json.Unmarshal(r.StructuredContent, &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	v := tail(map[string]any{"target": log})
	at := ""
	var b strings.Builder
	for i := range 60 {
		fmt.Fprintf(&b, "line %d %s\n", i+2, strings.Repeat("€", 31*i%1500))
	}
	more(t, log, b.String())
	next := 2
	for {
		if v.Cursor == at {
			t.Fatalf("no way on from line %d", next)
		}
		at = v.Cursor
		v = tail(map[string]any{"target": log, "lines": 1000, "max_bytes": 2000, "cursor": v.Cursor})
		for _, l := range v.Lines {
			if l.Line != next {
				t.Fatalf("line %d, want %d", l.Line, next)
			}
			next++
		}
		if v.AtEnd {
			break
		}
	}
	if next != 62 {
		t.Errorf("%d lines came, want 61", next-1)
	}
}
