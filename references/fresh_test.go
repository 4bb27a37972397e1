package references_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/failure/all"
	"github.com/trainmedic/trainmedic/references"
)

var update = flag.Bool("update", false, "write the tables of the documents anew")

// block is a generated part of a document, its markers included.
var block = regexp.MustCompile(`(?s)<!-- begin:([\w:-]+) -->\n(.*?)<!-- end:([\w:-]+) -->`)

// tables are the generated parts by the names in their markers.
func tables(t *testing.T) map[string]string {
	t.Helper()
	book, err := all.Book()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{
		"classes": classTable(book), "detectors": detectorTable(book),
		"formats": formatTable(t), "families": familyTable(t), "metric-names": nameTable(t),
		"vocabulary": vocabularyTable(t), "target-forms": formTable(),
	}
	for _, c := range book.Classes {
		out["signatures:"+string(c.ID)] = signatureTable(c)
		if len(c.Causes) > 0 {
			out["causes:"+string(c.ID)] = causeTable(c)
		}
	}
	maps.Copy(out, schemaTables(t))
	return out
}

func TestDocumentsAreFresh(t *testing.T) {
	want := tables(t)
	used := map[string]bool{}
	for _, name := range documents(t) {
		old, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		now := block.ReplaceAllStringFunc(string(old), func(part string) string {
			m := block.FindStringSubmatch(part)
			table, ok := want[m[1]]
			if !ok || m[1] != m[3] {
				t.Errorf("%s: markers %s … %s: there is no such table", name, m[1], m[3])
				return part
			}
			used[m[1]] = true
			return fmt.Sprintf("<!-- begin:%s -->\n%s<!-- end:%s -->", m[1], table, m[1])
		})
		switch {
		case now == string(old):
		case *update:
			if err := os.WriteFile(name, []byte(now), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			t.Errorf("references/%s is stale; run: go test ./references -update", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if !used[name] {
			t.Errorf("no document shows the table %s; put its markers into one", name)
		}
	}
}

// documents are the files that are embedded.
func documents(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if _, err := references.Files.ReadFile(n); err != nil {
			t.Errorf("%s is not embedded: %v", n, err)
		}
	}
	return names
}

// row is one row of a Markdown table.
func row(cells ...string) string {
	for i, c := range cells {
		cells[i] = cell(c)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// cell writes a text so that it stays in its cell and shows as it is.
func cell(s string) string {
	s = strings.NewReplacer("|", `\|`, "\n", " ").Replace(strings.TrimSpace(s))
	parts := strings.Split(s, "`")
	for i := 0; i < len(parts); i += 2 { // outside of code
		parts[i] = strings.ReplaceAll(parts[i], "<", "&lt;")
	}
	return strings.Join(parts, "`")
}

func head(cells ...string) string {
	return row(cells...) + strings.Repeat("|---", len(cells)) + "|\n"
}

func code(s string) string { return "`" + s + "`" }

func codes[T ~string](list []T) string {
	var out []string
	for _, s := range list {
		out = append(out, code(string(s)))
	}
	return strings.Join(out, ", ")
}
