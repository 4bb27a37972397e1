package tools_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/transport"
	"github.com/trainmedic/trainmedic/tools"
)

// TestNoLinkLeadsOut: over the network too a link below a root opens nothing that
// lies elsewhere, by name or as a part of the folder.
func TestNoLinkLeadsOut(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	for path, text := range map[string]string{
		filepath.Join(root, "train.log"):      "step 1/2 loss=1.0\nstep 2/2 loss=0.9\n",
		filepath.Join(outside, "other.log"):   "step 1/2 loss=1.0 hidden-word\nRuntimeError: hidden-word\n",
		filepath.Join(outside, "config.json"): `{"hidden_word": "hidden-word"}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"linked.log": filepath.Join(outside, "other.log"), "config.json": filepath.Join(outside, "config.json"), "logs": outside, "up": "..",
		"far.log": "../" + filepath.Base(outside) + "/other.log",
	} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	roots, err := source.NewRoots([]string{root})
	if err != nil {
		t.Fatal(err)
	}
	n := listen(t, newServer(t, tools.Config{Roots: roots}), transport.Network{})
	c := connect(t, n, "http", nil)
	refused := []string{"linked.log", "far.log", "logs", "logs/other.log", "up/" + filepath.Base(outside), "up/" + filepath.Base(outside) + "/other.log", "lo*/*.log", "../" + filepath.Base(outside) + "/other.log"}
	for tool := range resultSchemas {
		r, err := c.CallTool(t.Context(), request(tool, map[string]any{"target": root}))
		if b, _ := json.Marshal(r); err != nil || r.IsError || strings.Contains(string(b), "hidden-word") {
			t.Errorf("%s of the folder: %v %s", tool, err, b)
		}
		for _, path := range refused {
			for _, args := range []map[string]any{{"target": root + "/" + path}, {"target": filepath.Join(root, "train.log"), "artifacts": root + "/" + path}} {
				r, err := c.CallTool(t.Context(), request(tool, args))
				b, _ := json.Marshal(r)
				if err != nil || strings.Contains(string(b), "hidden-word") || args["artifacts"] == nil && !r.IsError {
					t.Errorf("%s %v: %v %s", tool, args, err, b)
				}
			}
		}
	}
	for _, args := range []map[string]any{{"target": root + "/linked.log", "once": true}, {"target": root, "once": true}, {"target": root, "once": true, "out_dir": root + "/logs"}} {
		if r, err := c.CallTool(t.Context(), request("monitor_run", args)); err == nil {
			if b, _ := json.Marshal(r); strings.Contains(string(b), "hidden-word") {
				t.Errorf("monitor_run %v: %s", args, b)
			}
		}
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 2 {
		t.Errorf("something was written outside: %v", entries)
	}
}
