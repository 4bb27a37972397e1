package tools_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	failures "github.com/trainmedic/trainmedic/internal/failure/all"
	sources "github.com/trainmedic/trainmedic/internal/source/all"
	"github.com/trainmedic/trainmedic/tools"
)

// TestTheCorpusThroughEveryTool wants of every case and tool a result that is
// valid against both schemas and within 32 KB.
func TestTheCorpusThroughEveryTool(t *testing.T) {
	const cases = "../internal/diagnose/testdata/cases"
	entries, err := os.ReadDir(cases)
	if err != nil || len(entries) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	book, err := failures.Book()
	if err != nil {
		t.Fatal(err)
	}
	c := dial(t, newServer(t, tools.Config{Doctor: &diagnose.Doctor{Book: book, Sources: sources.Kinds()}})).hello()
	for _, e := range entries {
		for tool, schema := range resultSchemas {
			t.Run(e.Name()+"/"+tool, func(t *testing.T) {
				r := c.call(tool, map[string]any{"target": filepath.Join(cases, e.Name())})
				if r.IsError {
					t.Fatal(r.Content[0].Text)
				}
				if n := len(r.Content[0].Text); n > 32<<10 {
					t.Errorf("%d bytes", n)
				}
				checkResult(t, schema, r)
			})
		}
	}
}
