package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/bench/golden"
)

func TestScoreTable(t *testing.T) {
	at := func(file string, n int) []line { return []line{{file, n}} }
	cases := []trial{
		{id: "right", want: truth{Primary: "oom", Status: "crashed", Rank: new(3), Evidence: at("logs/run.log", 10)}, got: answer{Primary: "oom", Confidence: new(0.9), Status: "crashed", Rank: new(3), Evidence: at("run.log", 13)}},
		{id: "wrong rank and line", want: truth{Primary: "oom", Status: "crashed", Rank: new(3), Evidence: at("run.log", 10)}, got: answer{Primary: "oom", Confidence: new(0.5), Status: "crashed", Evidence: at("run.log", 14)}},
		{id: "acceptable", want: truth{Primary: "stalled", Acceptable: []string{"oom"}, Status: "hung"}, got: answer{Primary: "oom", Confidence: new(1.0), Status: "hung"}},
		{id: "no answer", want: truth{Primary: "stalled", Status: "hung"}, err: context.DeadlineExceeded},
		{id: "healthy", want: truth{Primary: none}, got: answer{Primary: none}},
		{id: "alarm", want: truth{Primary: none}, got: answer{Primary: "oom", Confidence: new(0.7)}},
	}
	golden.Compare(t, "score.md", scoreTable(cases))
}

func TestHealthyTable(t *testing.T) {
	golden.Compare(t, "healthy.md", healthyTable([]healthy{
		{name: "a.log", answer: answer{Primary: none}},
		{name: "b.log", answer: answer{Primary: "oom", Status: "crashed", Evidence: []line{{"b.log", 7}}}},
		{name: "c.log", err: context.DeadlineExceeded},
	}))
}

// program answers like trainmedic, and complains if it is shown the truth.
const program = `#!/bin/sh
last=$(for a in "$@"; do :; done; echo "$a")
case "$last" in
--traceback) grep -q oom || exit 1 ;;
*) [ ! -e "$last/want.json" ] && [ -z "$(grep -rl healthy "$last")" ] || { echo '{"primary_cause": "none"}'; exit 0; } ;;
esac
echo '{"primary_cause": "oom", "run_status": "crashed"}'
exit 3
`

func TestCommands(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"tm":                    program,
		"cases/a/want.json":     `{"classes_primary": "oom", "run_status": "crashed"}`,
		"cases/a/run.log":       "killed",
		"cases/b/case.json":     `{"classes_primary": "oom", "run_status": "crashed"}`,
		"cases/b/traceback.txt": "oom",
		"logs/deep/one.log":     "healthy",
		"logs/two.log":          "killed",
		"logs/README.md":        "not a log",
		"cases/c/sub/run.log":   "healthy",
		"cases/c/case.json":     `{"classes_primary": "none"}`,
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for job, want := range map[string]string{"score cases": "| right class | 2 of 2 (100 %) |", "healthy logs": "| false alarms | 1 of 2 (50 %) |"} {
		verb, folder, _ := strings.Cut(job, " ")
		var out strings.Builder
		if err := corpus(t.Context(), []string{"-program", filepath.Join(dir, "tm"), verb, filepath.Join(dir, folder)}, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("%s: want %s in\n%s", job, want, out.String())
		}
	}
}
