package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trainmedic/trainmedic/internal/cli"
)

// base is what consumers of the skills' base schema read of any artifact: a viewer
// that knows neither skill.
const base = `{
  "type": "object",
  "required": ["schema_version", "skill_name", "run_id", "timestamp", "duration_seconds", "decision", "confidence", "summary", "findings", "next_commands"],
  "properties": {
    "schema_version": {"const": "1.0"},
    "skill_name": {"enum": ["check-failed-run", "babysit-training"]},
    "run_id": {"type": "string", "minLength": 1},
    "timestamp": {"type": "string", "pattern": "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$"},
    "duration_seconds": {"type": "number", "minimum": 0},
    "decision": {"enum": ["GO", "NO-GO", "CONDITIONAL"]},
    "confidence": {"enum": ["high", "medium", "low"]},
    "summary": {"type": "string", "minLength": 1, "pattern": "^[^\\n]*$"},
    "findings": {"type": "array", "items": {
      "type": "object",
      "required": ["id", "severity", "title", "description", "fix"],
      "properties": {
        "id": {"type": "string", "pattern": "^F\\d{3}$"},
        "severity": {"enum": ["blocker", "high", "medium", "low"]},
        "title": {"type": "string", "minLength": 1},
        "description": {"type": "string", "minLength": 1},
        "fix": {"type": "string", "minLength": 1}
      }
    }},
    "next_commands": {"type": "array", "items": {"type": "string", "minLength": 1}}
  }
}`

// TestArtifactsCarryTheBase reads the artifacts of both commands as such a
// consumer does: of runs that failed, diverged, go well, and say nothing.
func TestArtifactsCarryTheBase(t *testing.T) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(base))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("base", doc); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile("base")
	dir := t.TempDir()
	for name, text := range map[string]string{
		"healthy.log": "step 1/3 loss=2.5\nstep 2/3 loss=2.4\nstep 3/3 loss=2.3\nTraining completed.\n",
		"empty.log":   "",
		"nan.log":     "step 1/9 loss=2.5\n" + strings.Repeat("step 2/9 loss=nan\n", 5),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	findings := 0
	for _, command := range []string{"check", "watch"} {
		for _, target := range []string{
			"../../examples/two-ranks-one-raises", "../../examples/nan-after-warmup", "../../examples/torn-checkpoint-on-resume", "testdata/logs/oom.log",
			filepath.Join(dir, "healthy.log"), filepath.Join(dir, "empty.log"), filepath.Join(dir, "nan.log"),
		} {
			t.Run(command+" "+filepath.Base(target), func(t *testing.T) {
				var out, said strings.Builder
				run(t.Context(), []string{command, target, "--json", "--once"}, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &said})
				v, err := jsonschema.UnmarshalJSON(strings.NewReader(out.String()))
				if err != nil {
					t.Fatalf("%v: %s%s", err, out.String(), said.String())
				}
				if err := schema.Validate(v); err != nil {
					t.Error(err)
				}
				var a struct {
					Decision string
					Findings []struct{ ID string }
				}
				if err := json.Unmarshal([]byte(out.String()), &a); err != nil {
					t.Fatal(err)
				}
				ids := map[string]bool{}
				for _, f := range a.Findings {
					if ids[f.ID] {
						t.Errorf("%s twice", f.ID)
					}
					ids[f.ID] = true
				}
				findings += len(a.Findings)
				if a.Decision != "GO" && len(a.Findings) == 0 {
					t.Errorf("%s without a finding", a.Decision)
				}
			})
		}
	}
	if findings < 8 {
		t.Errorf("%d findings in all", findings)
	}
}
