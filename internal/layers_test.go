package internal_test

import (
	"os/exec"
	"path"
	"strings"
	"testing"
)

const module = "github.com/trainmedic/trainmedic/"

// floors is the order of the house, highest first: a package imports only what
// its row names, and every row names only lower floors. A package takes the
// first row that matches it; a pattern is a path below the module, with "*" for
// one folder. A new package gets its place here first.
var floors = []struct {
	floor    int
	packages string
	may      string // beside the standard library
	std      bool   // nothing but the standard library and what may names
}{
	{9, "cmd/*", "tools internal/cli internal/diagnose internal/monitor internal/failure/all internal/source/all internal/gate internal/gate/effect internal/gate/person internal/source internal/door internal/observe internal/page internal/transport", false},
	{9, "bench/cmd/*", "bench/*", false}, // measures the built program from outside
	{8, "bench/*", "", false},
	{9, "test/*", "internal/transport", false}, // programs for tests with foreign clients
	{8, "tools", "internal/diagnose internal/monitor internal/gate internal/report internal/plot internal/source internal/casefile internal/run internal/redact schemas references internal/transport internal/page", false},
	{8, "internal/cli", "internal/diagnose internal/monitor internal/gate internal/gate/person internal/report internal/plot internal/source internal/redact internal/page", false},
	{7, "internal/diagnose", "internal/judge internal/failure internal/casefile internal/source internal/report internal/run internal/redact", false},
	{7, "internal/monitor", "internal/judge internal/failure internal/casefile internal/source internal/report internal/run internal/redact internal/gate internal/state", false},
	{6, "internal/failure/all", "internal/failure internal/failure/*", false},
	{6, "internal/judge", "internal/failure internal/casefile internal/report internal/run", false},
	{5, "internal/source/all", "internal/source internal/source/* internal/remote", false},
	{6, "internal/gate/effect", "internal/gate internal/source/* internal/report internal/shell internal/source internal/checkpoint internal/redact internal/run internal/gate/effect/far internal/remote internal/source/vertex/cloud", false},
	{5, "internal/gate/effect/far", "internal/gate internal/remote internal/source/ssh internal/shell internal/source", false}, // nobody else may change a host
	{5, "internal/gate/person", "internal/gate internal/source/process", false},
	{5, "internal/failure/failuretest", "internal/failure internal/failure/all internal/casefile internal/report internal/run", false},
	{5, "internal/failure/*", "internal/failure internal/casefile internal/report internal/run", false},
	{4, "internal/failure", "internal/casefile internal/scan internal/report internal/run", false},
	{4, "internal/source/process", "internal/shell internal/gpu internal/kernel internal/source internal/source/file internal/source/ps internal/tail internal/host internal/redact internal/run internal/checkpoint", false},
	{4, "internal/source/artifacts", "internal/host internal/source internal/source/file internal/source/artifacts/* internal/tail internal/run internal/checkpoint internal/report internal/source/tensorboard internal/source/mlflow", false},
	{4, "internal/source/slurm", "internal/shell internal/source internal/source/file internal/tail internal/run internal/checkpoint internal/host internal/source/artifacts/export", false},
	{4, "internal/source/vertex", "internal/source internal/source/file internal/source/artifacts/doc internal/source/artifacts/export internal/source/vertex/* internal/run", false}, // what it fetches is read as an exported file is
	{3, "internal/source/vertex/cloud", "internal/source internal/source/vertex/gcloud", false},
	{2, "internal/source/vertex/gcloud", "", true},
	{2, "internal/source/vertex/vertextest", "", false}, // a server for tests
	{4, "internal/source/wandb", "internal/source internal/source/file internal/source/artifacts/doc internal/source/artifacts/wandblog internal/run", false},
	{2, "internal/source/artifacts/doc", "internal/run internal/report", false},
	{3, "internal/source/artifacts/*", "internal/gpu internal/host internal/source internal/source/artifacts/doc internal/decimal internal/tail internal/run internal/checkpoint internal/report", false},
	{2, "internal/source/slurm/slurmtest", "", true}, // runs a cluster for tests
	{3, "internal/source/ps", "internal/shell internal/source internal/host internal/redact internal/run", false},
	{4, "internal/source/ssh", "internal/shell internal/host internal/remote internal/source internal/source/file internal/tail internal/run", false},
	{3, "internal/source/*", "internal/shell internal/decimal internal/gpu internal/kernel internal/source internal/tail internal/host internal/run internal/checkpoint", false},
	{3, "internal/remote", "internal/shell internal/source internal/remote/sshconfig", false},
	{2, "internal/remote/sshconfig", "", true},
	{4, "internal/remote/sshdtest", "", true}, // runs servers for tests
	{3, "internal/transport", "internal/door", false},
	{3, "internal/casefile", "internal/run internal/scan internal/logformat internal/report internal/redact", false},
	{2, "internal/host", "internal/gpu internal/kernel internal/shell internal/run", false},
	{2, "internal/tail", "internal/run internal/report", false},
	{2, "internal/logformat", "internal/decimal internal/run internal/report", false},
	{2, "internal/source", "internal/shell internal/run internal/report", false},
	{3, "internal/gate", "internal/run internal/report internal/source internal/redact internal/state", false},
	{2, "internal/checkpoint", "internal/run internal/report", false},
	{2, "internal/redact", "internal/run internal/report", false},
	{2, "internal/redact/redacttest", "", true}, // what tests of the faces show them
	{2, "internal/plot", "internal/run internal/report", false},
	{3, "internal/page", "internal/plot internal/run internal/report", false},
	{1, "internal/gpu", "internal/shell internal/run", false},
	{1, "internal/kernel", "internal/shell internal/run", false},
	{1, "internal/door", "", false},
	{0, "internal/faulttest", "", true}, // faults for tests
	{0, "internal/state", "", true},
	{1, "internal/observe", "", false},
	{0, "internal/chromium", "", false}, // drives a browser for tests
	{0, "internal/shell", "", true},
	{0, "internal/decimal", "", true},
	{0, "internal/run", "", true},
	{1, "internal/report", "internal/run", true},
	{1, "internal/scan", "", true},
	{1, "schemas", "", true},
	{1, "references", "", true},
}

func TestImportsGoDownTheFloors(t *testing.T) {
	cmd := exec.Command("go", "list", "-e", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		check(t, strings.TrimPrefix(f[0], module), f[1:])
	}
}

func check(t *testing.T, pkg string, imports []string) {
	row := -1
	for i, f := range floors {
		if match(f.packages, pkg) {
			row = i
			break
		}
	}
	if row < 0 {
		if len(imports) > 0 {
			t.Errorf("%s has no floor; give it one in internal/layers_test.go first", pkg)
		}
		return
	}
	for _, imp := range imports {
		ours, isOurs := strings.CutPrefix(imp, module)
		switch {
		case isOurs && !matchAny(floors[row].may, ours):
			t.Errorf("%s (floor %d) may not import %s", pkg, floors[row].floor, ours)
		case !isOurs && floors[row].std && strings.Contains(strings.Split(imp, "/")[0], "."):
			t.Errorf("%s is ground and may not import %s", pkg, imp)
		}
	}
}

func matchAny(patterns, pkg string) bool {
	for p := range strings.FieldsSeq(patterns) {
		if match(p, pkg) {
			return true
		}
	}
	return false
}

func match(pattern, pkg string) bool {
	ok, err := path.Match(pattern, pkg)
	return ok && err == nil
}

// TestEveryRowNamesOnlyLowerFloors keeps the table itself honest.
func TestEveryRowNamesOnlyLowerFloors(t *testing.T) {
	for _, f := range floors {
		for _, g := range floors {
			if matchAny(f.may, g.packages) && g.packages != f.packages && g.floor >= f.floor && !strings.HasSuffix(g.packages, "/all") {
				t.Errorf("%s (floor %d) names %s (floor %d)", f.packages, f.floor, g.packages, g.floor)
			}
		}
	}
}
