package tools_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/failure/all"
	sources "github.com/trainmedic/trainmedic/internal/source/all"
	"github.com/trainmedic/trainmedic/tools"
)

// readable is what a model reads of an answer, which carries the same JSON twice.
func readable(r result) int { return len(r.StructuredContent) }

// TestWhatAConversationCosts adds up what an agent reads in the usual
// conversations, in steps of 500 bytes: a change that makes one longer shows in
// the diff. A token is about four bytes.
func TestWhatAConversationCosts(t *testing.T) {
	book, err := all.Book()
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, newServer(t, tools.Config{Doctor: &diagnose.Doctor{Book: book, Sources: sources.Kinds()}}))
	var got bytes.Buffer
	line := func(what string, n int) { fmt.Fprintf(&got, "%-58s %7d\n", what, (n+499)/500*500) }

	hello := c.request("initialize", map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"}})
	list := c.request("tools/list", map[string]any{})
	got.WriteString("what an agent reads, in bytes (a token is about four)\n\n")
	line("connect: initialize and tools/list, once", len(hello.Result)+len(list.Result))

	for _, example := range []string{"nan-after-warmup", "torn-checkpoint-on-resume", "two-ranks-one-raises"} {
		target := map[string]any{"target": filepath.Join("../examples", example)}
		check := c.call("check_failed_run", target)
		var d struct {
			Refs []struct {
				File string `json:"file"`
				Line int    `json:"line"`
			} `json:"evidence_refs"`
		}
		if err := json.Unmarshal(check.StructuredContent, &d); err != nil || len(d.Refs) == 0 {
			t.Fatalf("%s: %v", example, err)
		}
		around := c.call("tail_log", map[string]any{"target": target["target"], "file": d.Refs[0].File, "around": d.Refs[0].Line, "lines": 20})
		classify, plan := c.call("classify_failure", target), c.call("plan_recovery", target)
		if check.IsError || around.IsError || classify.IsError || plan.IsError {
			t.Fatalf("%s: %+v", example, around)
		}
		fmt.Fprintln(&got)
		line(example+": check_failed_run", readable(check))
		line("  and the 20 lines around the proof, by tail_log", readable(check)+readable(around))
		line("  or only classify_failure and plan_recovery", readable(classify)+readable(plan))
	}

	first, baseline := monitorRun(t, c, map[string]any{"target": trainLog(t, 50)})
	_, quiet := monitorRun(t, c, map[string]any{"monitor_id": first.MonitorID, "cursor": first.Cursor, "wait_seconds": 0})
	_, end := monitorRun(t, c, map[string]any{"monitor_id": first.MonitorID, "cursor": first.Cursor, "stop": true})
	fmt.Fprintln(&got)
	line("a healthy run watched for an hour, with a progress token", readable(baseline)+readable(quiet)+readable(end))
	line("  by a client that gives up after a minute (72 calls)", readable(baseline)+72*readable(quiet)+readable(end))
	line("  by tail_log, 100 lines every five minutes", 12*readable(c.call("tail_log", map[string]any{"target": trainLog(t, 300)})))

	const golden = "testdata/budget.txt"
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("%s is stale; run: go test ./tools -update\n%s", golden, d)
	}
}
