package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/trainmedic/trainmedic/internal/faulttest"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/tools"
)

// served is a client of a server of its own over stdio.
func served(t *testing.T, env []string, flags ...string) func(into any, tool string, args map[string]any) {
	t.Helper()
	call, _ := servedAnd(t, env, flags...)
	return call
}

// servedAnd is served, and what kills that server.
func servedAnd(t *testing.T, env []string, flags ...string) (call func(into any, tool string, args map[string]any), kill func()) {
	t.Helper()
	var server *exec.Cmd
	c, err := client.NewStdioMCPClientWithOptions("trainmedic", env, append([]string{"serve"}, flags...), transport.WithCommandFunc(
		func(ctx context.Context, command string, env, args []string) (*exec.Cmd, error) {
			server = exec.Command(command, args...)
			server.Env = append(os.Environ(), env...)
			return server, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion, hello.Params.ClientInfo = "2025-11-25", mcp.Implementation{Name: "test-agent", Version: "1"}
	if _, err := c.Initialize(t.Context(), hello); err != nil {
		t.Fatal(err)
	}
	call = func(into any, tool string, args map[string]any) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var req mcp.CallToolRequest
		req.Params.Name, req.Params.Arguments = tool, args
		res, err := c.CallTool(ctx, req)
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %+v", tool, err, res)
		}
		b, err := json.Marshal(res.StructuredContent)
		if err == nil {
			err = json.Unmarshal(b, into)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return call, func() { server.Process.Kill() }
}

// TestAServerWithoutADisk: with a home that nobody may write, or no room in it, a
// server answers, watches in memory, and does nothing to a run.
func TestAServerWithoutADisk(t *testing.T) {
	log := example(t, "testdata/logs/oom.log")
	for name, take := range map[string]func(*testing.T, string){
		"full":      func(t *testing.T, dir string) { faulttest.Fill(t, dir) },
		"read-only": func(t *testing.T, dir string) { faulttest.ReadOnly(t, dir) },
	} {
		t.Run(name, func(t *testing.T) {
			disk, tmp := faulttest.SmallDisk(t, 64<<10), t.TempDir()
			take(t, disk)
			call := served(t, []string{"XDG_STATE_HOME=" + disk, "HOME=" + disk, "TMPDIR=" + tmp}, "--allow-actions")
			var d report.Diagnosis
			call(&d, "check_failed_run", map[string]any{"target": log, "out_dir": disk})
			kept, _ := filepath.Glob(filepath.Join(tmp, "*", report.CheckArtifact))
			told, _ := json.Marshal(d.MissingEvidence)
			if d.PrimaryCause != report.OOM || len(kept) != 1 || !strings.Contains(string(told), "The file is kept as "+kept[0]) {
				t.Errorf("%s %q %s", d.PrimaryCause, kept, told)
			}
			var w tools.WatchState
			call(&w, "monitor_run", map[string]any{"target": log, "once": true, "out_dir": disk})
			if w.Artifact == nil || !strings.Contains(w.StatusLine, "not on disk: kept as "+tmp) {
				t.Errorf("%q %+v", w.StatusLine, w.Artifact)
			}
			run := exec.Command("sleep", "60")
			if err := run.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { run.Process.Kill(); run.Wait() })
			var r tools.ActionResult
			call(&r, "run_action", map[string]any{"target": fmt.Sprintf("pid:%d", run.Process.Pid), "operation": "terminate"})
			if r.State != tools.ActionRefused || r.Reason != "not_written" {
				t.Errorf("%+v", r)
			}
		})
	}
}
