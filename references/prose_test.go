package references_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/report"
)

// prose is a document without its generated parts.
func prose(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return block.ReplaceAllString(string(b), "")
}

func TestEveryWordIsExplained(t *testing.T) {
	text := prose(t, "vocabulary.md")
	_, values := words(t)
	for typ, list := range values {
		for _, v := range list {
			if !strings.Contains(text, code(v)) {
				t.Errorf("vocabulary.md does not explain %s %s", typ, v)
			}
		}
	}
}

func TestEveryClassIsDescribed(t *testing.T) {
	for doc, head := range map[string]string{"failure-taxonomy.md": "### ", "root-cause-patterns.md": "## ", "signatures.md": "## "} {
		text := prose(t, doc)
		for _, c := range report.Classes {
			if !strings.Contains(text, "\n"+head+string(c)+"\n") {
				t.Errorf("%s has no section on %s", doc, c)
			}
		}
	}
}

// TestArchitectureNamesEveryPackage keeps the page about the tree true to it;
// the classes stand for each other.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	text := prose(t, "../ARCHITECTURE.md")
	for _, depth := range []string{"../internal/*/*.go", "../internal/source/*/*.go", "../internal/source/*/*/*.go"} {
		names, err := filepath.Glob(depth)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			if pkg := filepath.Base(filepath.Dir(n)); !strings.Contains(text, pkg) {
				t.Fatalf("ARCHITECTURE.md does not name the package %s", pkg)
			}
		}
	}
}

var fields = regexp.MustCompile("(?m)^\\| `(\\w+)` \\|")

func TestEveryFieldOfTheArtifactIsExplained(t *testing.T) {
	text := prose(t, "schemas.md")
	for _, m := range fields.FindAllStringSubmatch(schemaTables(t)["schema:check-failed-run"], -1) {
		if !strings.Contains(text, code(m[1])) {
			t.Errorf("schemas.md does not explain %s", m[1])
		}
	}
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headline = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInID  = regexp.MustCompile(`[^\w -]`)
)

// anchors are the fragments that the headlines of a document give.
func anchors(text string) map[string]bool {
	out := map[string]bool{}
	for _, m := range headline.FindAllStringSubmatch(text, -1) {
		out[strings.ReplaceAll(notInID.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return out
}

// TestLinksLead also holds the documents at the root of the repository.
func TestLinksLead(t *testing.T) {
	pages := documents(t)
	for _, more := range []string{"../*.md", "../docs/*.md", "../examples/*.md"} {
		found, err := filepath.Glob(more)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for _, name := range pages {
		text := prose(t, name)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			path, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			to := filepath.Join(filepath.Dir(name), path)
			if path == "" {
				to = name
			}
			info, err := os.Stat(to)
			if err != nil {
				t.Errorf("%s: %s leads nowhere", name, m[1])
				continue
			}
			if fragment != "" && (info.IsDir() || !anchors(prose(t, to))[fragment]) {
				t.Errorf("%s: %s has no such headline", name, m[1])
			}
		}
	}
}
