package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/tools"
)

// TestTwoServersOneState: one watches, the other reads along; when the first is
// killed, which leaves its lock's file behind, the other goes on. Nobody else may
// read what they keep.
func TestTwoServersOneState(t *testing.T) {
	state, log := t.TempDir(), growing(t)
	env := []string{"XDG_STATE_HOME=" + state}
	one, kill := servedAnd(t, env)
	two := served(t, env)
	var a, b tools.WatchState
	args := map[string]any{"target": log, "interval": 1, "no_backoff": true}
	one(&a, "monitor_run", args)
	two(&b, "monitor_run", args)
	if a.MonitorID == "" || a.MonitorID != b.MonitorID || !strings.Contains(b.StatusLine, "Step 50/1000") {
		t.Fatalf("%+v\n%+v", a, b)
	}
	appendLine(t, log, "step 51/1000 loss=nan lr=1e-4\nstep 52/1000 loss=nan lr=1e-4\nstep 53/1000 loss=nan lr=1e-4\n")
	news := map[string]any{"monitor_id": a.MonitorID, "cursor": "0", "wait_seconds": 20}
	one(&a, "monitor_run", news)
	two(&b, "monitor_run", news)
	if len(a.Events) != 1 || len(b.Events) != 1 || line(a.Events[0]) != line(b.Events[0]) {
		t.Fatalf("the owner: %+v\nthe other: %+v", a, b)
	}
	kill()
	if _, err := os.Stat(filepath.Join(state, "trainmedic", "watches", a.MonitorID, "lock")); err != nil {
		t.Fatal(err)
	}
	var healed strings.Builder
	for i := 54; i < 90; i++ {
		fmt.Fprintf(&healed, "step %d/1000 loss=1.9 lr=1e-4\n", i)
	}
	appendLine(t, log, healed.String())
	news["cursor"] = b.Cursor
	two(&b, "monitor_run", news)
	told := slices.DeleteFunc(b.Events, func(e report.Event) bool { // nobody writes the log any more: at polls of a second that is a stall
		return e.Anomaly != nil && e.Anomaly.Type == report.AnomalyStalled
	})
	if len(told) != 1 || told[0].Kind != report.EventClosed {
		t.Errorf("after the owner died: %+v", b)
	}
	if err := filepath.WalkDir(state, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == state {
			return err
		}
		st, err := e.Info()
		if err == nil && st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, st.Mode())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func appendLine(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString(text)
		f.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}
