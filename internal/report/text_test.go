package report_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/trainmedic/trainmedic/internal/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestText compares the report of each diagnosis in testdata/text.
func TestText(t *testing.T) {
	files, err := filepath.Glob("testdata/text/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(f)
			if err != nil {
				t.Fatal(err)
			}
			d := report.NewDiagnosis()
			if err := json.Unmarshal(ar.Files[0].Data, d); err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if err := report.WriteText(&b, d, report.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			if *update {
				ar.Files[1].Data = b.Bytes()
				if err := os.WriteFile(f, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(string(ar.Files[1].Data), b.String()); d != "" {
				t.Errorf("run go test ./internal/report -update, and read the diff:\n%s", d)
			}
		})
	}
}

func TestColorIsOnlyAddedToTheSameText(t *testing.T) {
	d := report.NewDiagnosis()
	d.RunStatus, d.PrimaryCause, d.Decision = report.Crashed, report.OOM, report.NoGo
	var plain, color bytes.Buffer
	if err := report.WriteText(&plain, d, report.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteText(&color, d, report.TextOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(color.String(), "\x1b[31mcrashed\x1b[0m") {
		t.Errorf("no red status: %q", color.String())
	}
	stripped := color.String()
	for _, code := range []string{"0", "1", "31", "32", "33", "36"} {
		stripped = strings.ReplaceAll(stripped, "\x1b["+code+"m", "")
	}
	if d := cmp.Diff(plain.String(), stripped); d != "" {
		t.Error(d)
	}
}
