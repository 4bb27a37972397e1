package internal_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

func TestEveryLinkedModuleHasItsLicence(t *testing.T) {
	listed, err := os.ReadFile("../docs/LICENSES.md")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}| {{.Path}} | {{.Version}} |{{end}}{{end}}", "./cmd/trainmedic")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	modules := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		if row := strings.TrimSpace(line); row != "" && !modules[row] {
			modules[row] = true
			if !strings.Contains(string(listed), row) {
				t.Errorf("docs/LICENSES.md lacks %q: run make licenses", row)
			}
		}
	}
	if len(modules) == 0 {
		t.Error("no modules")
	}
}

// floating is a tool or package without a version, or with one that moves.
var floating = regexp.MustCompile(`@(?:latest|main|master)\b|\bgo (?:install|run) [\w.-]+\.[a-z]+/\S+/[^@\s]+(?:\s|$)|\bpip3? install (?:-q |--\S+ )*[a-z][\w-]*(?:\s|$)`)

// TestToolsOfTheChecksArePinned reads what CI runs. Packages of the system come
// from its distribution.
func TestToolsOfTheChecksArePinned(t *testing.T) {
	for _, f := range []string{"../Makefile", "../.ci/run", "../test/inspector.sh", "../test/trackers.sh", "../test/wandb.sh", "../test/licenses.sh", "../test/vuln.sh"} {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range floating.FindAllString(string(text), -1) {
			t.Errorf("%s: %q has no fixed version", f, at)
		}
	}
	for _, s := range []string{"go run a.b/c/d@latest", "go run a.b/c/d ./...", "pip install -q wandb"} {
		if !floating.MatchString(s) {
			t.Errorf("%q is not seen", s)
		}
	}
}
