package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/failure/all"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
	sources "github.com/trainmedic/trainmedic/internal/source/all"
	"github.com/trainmedic/trainmedic/schemas"
	"github.com/trainmedic/trainmedic/tools"
)

func newDesk(t *testing.T, dir string) *monitor.Desk {
	t.Helper()
	book, err := all.Book()
	if err != nil {
		t.Fatal(err)
	}
	doctor := &diagnose.Doctor{Book: book, Sources: sources.Kinds()}
	d := &monitor.Desk{Dir: dir, Monitor: &monitor.Monitor{Book: book, Sources: doctor.Sources, Conclude: doctor.Conclude}}
	t.Cleanup(func() { d.Close() })
	return d
}

func monitorRun(t *testing.T, c *client, args map[string]any) (tools.WatchState, result) {
	t.Helper()
	r := c.call("monitor_run", args)
	if r.IsError {
		t.Fatal(r.Content[0].Text)
	}
	checkResult(t, "monitor_run", r)
	var v tools.WatchState
	if err := json.Unmarshal(r.StructuredContent, &v); err != nil {
		t.Fatal(err)
	}
	return v, r
}

func more(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestAWatchFromTheBaselineToItsArtifact(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	log, out := trainLog(t, 50), t.TempDir()
	first, _ := monitorRun(t, c, map[string]any{"target": log, "interval": 1, "no_backoff": true, "out_dir": out, "run_id": "r1"})
	if first.State != report.StateRunning || first.MonitorID == "" || len(first.Events) != 0 || !strings.Contains(first.StatusLine, "Step 50/150 (33%) | loss=4") {
		t.Fatalf("baseline: %+v", first)
	}
	next := map[string]any{"monitor_id": first.MonitorID, "cursor": first.Cursor, "wait_seconds": 1}
	quiet, r := monitorRun(t, c, next)
	if n := len(r.StructuredContent); n > 400 || len(quiet.Events) != 0 {
		t.Errorf("a quiet answer has %d bytes: %s", n, r.StructuredContent)
	}
	var keys map[string]any
	if err := json.Unmarshal(r.StructuredContent, &keys); err != nil || len(keys) != 6 {
		t.Errorf("a quiet answer has six fields: %s", r.StructuredContent)
	}
	more(t, log, strings.Repeat("step 51/150 loss=nan lr=1e-4\n", 5))
	next["wait_seconds"] = 30
	v, _ := monitorRun(t, c, next)
	if len(v.Events) != 1 || v.Events[0].Anomaly.Type != report.AnomalyNaNInf || v.Cursor != "1" {
		t.Fatalf("an anomaly: %+v", v)
	}
	end, _ := monitorRun(t, c, map[string]any{"monitor_id": first.MonitorID, "cursor": "1", "stop": true})
	if a := end.Artifact; a == nil || a.RunID != "r1" || a.Decision != report.NoGo || len(a.Anomalies) == 0 || end.Events[len(end.Events)-1].Kind != report.EventEnd {
		t.Fatalf("the end: %+v", end)
	}
	b, err := os.ReadFile(filepath.Join(out, report.WatchArtifact))
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	if err := validator(t, schemas.Full("babysit-training")).Validate(doc); err != nil {
		t.Error(err)
	}
	if a := c.request("resources/read", map[string]any{"uri": "run://" + first.MonitorID}); a.Error != nil {
		t.Errorf("the artifact is no resource: %+v", *a.Error)
	}
}

func TestAWatchGoesOnInAnotherServer(t *testing.T) {
	log, state := trainLog(t, 50), t.TempDir()
	one := newDesk(t, state)
	c := dial(t, newServer(t, tools.Config{Watches: one})).hello()
	first, _ := monitorRun(t, c, map[string]any{"target": log, "interval": 1, "no_backoff": true})
	one.Close()
	more(t, log, strings.Repeat("step 51/150 loss=nan lr=1e-4\n", 5))
	c = dial(t, newServer(t, tools.Config{Watches: newDesk(t, state)})).hello()
	v, _ := monitorRun(t, c, map[string]any{"monitor_id": first.MonitorID, "cursor": first.Cursor, "wait_seconds": 30})
	if len(v.Events) != 1 || v.Events[0].Anomaly.Type != report.AnomalyNaNInf {
		t.Errorf("want the anomaly of meanwhile, got %+v", v)
	}
}

func TestOneLookEndsWithItsArtifact(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	v, _ := monitorRun(t, c, map[string]any{"target": trainLog(t, 50), "once": true})
	if v.Artifact == nil || v.Artifact.Polls != 1 || v.Artifact.TerminalState != report.StateRunning || v.Artifact.Decision != report.Go {
		t.Errorf("%+v", v)
	}
}

func TestWrongArgumentsOfAWatch(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	for want, args := range map[string]map[string]any{
		"neither target nor monitor_id is given":      {},
		"both target and monitor_id are given":        {"target": "x", "monitor_id": "w1"},
		"cursor: not one that monitor_run gave":       {"target": "x", "cursor": "a"},
		"unknown argument \"text\"":                   {"text": "step 1"},
		"argument 'wait_seconds': maximum: got 4,000": {"target": "x", "wait_seconds": 4000},
		"monitor: no watch \"w0123\": not found":      {"monitor_id": "w0123"},
	} {
		if f := c.fails("monitor_run", args); !strings.HasPrefix(f.Message, want) || f.Ask == "" {
			t.Errorf("want %q, got %+v", want, f)
		}
	}
}

func TestProgressComesWhileAClientWaits(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for ten seconds")
	}
	c := dial(t, newServer(t, tools.Config{})).hello()
	first, _ := monitorRun(t, c, map[string]any{"target": trainLog(t, 50)})
	a := c.request("tools/call", map[string]any{
		"name": "monitor_run", "_meta": map[string]any{"progressToken": "p1"},
		"arguments": map[string]any{"monitor_id": first.MonitorID, "cursor": first.Cursor, "wait_seconds": 11},
	})
	if a.Error != nil {
		t.Fatalf("%+v", *a.Error)
	}
	if !slices.ContainsFunc(c.notes, func(n string) bool { return strings.Contains(n, "notifications/progress") && strings.Contains(n, "p1") }) {
		t.Errorf("no progress among %q", c.notes)
	}
}
