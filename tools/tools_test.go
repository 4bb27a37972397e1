package tools_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/schemas"
	"github.com/trainmedic/trainmedic/tools"
)

// resultSchemas name the schema of each tool's result.
var resultSchemas = map[string]string{
	"fetch_target": "fetch_target", "tail_log": "tail_log", "extract_metrics": "extract_metrics",
	"classify_failure": "classify_failure", "plan_recovery": "plan_recovery", "check_failed_run": "check-failed-run",
}

func trainLog(t *testing.T, steps int) string {
	t.Helper()
	var b strings.Builder
	for i := 1; i <= steps; i++ {
		fmt.Fprintf(&b, "step %d/%d loss=%.4f lr=1e-4 samples/s=%d it/s=2.0\n", i, steps+100, 5-float64(i)/float64(steps), 100+i%3)
	}
	return write(t, "train.log", b.String())
}

func write(t *testing.T, name, text string) string {
	t.Helper()
	p := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryResultIsValidAndSaidTwice(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	log := trainLog(t, 300)
	for tool, schema := range resultSchemas {
		t.Run(tool, func(t *testing.T) {
			for _, args := range []map[string]any{{"target": log}, {"text": "step 1/2 loss=nan\nboom"}, {"target": log, "max_bytes": 2500}} {
				r := c.call(tool, args)
				if r.IsError {
					t.Fatalf("%v: %s", args, r.Content[0].Text)
				}
				checkResult(t, schema, r)
				if n := len(r.Content[0].Text); args["max_bytes"] != nil && n > 2500 {
					t.Errorf("%d bytes, want at most 2500", n)
				}
			}
		})
	}
}

func checkResult(t *testing.T, schema string, r result) {
	t.Helper()
	var text, structured any
	if err := json.Unmarshal([]byte(r.Content[0].Text), &text); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(r.StructuredContent, &structured); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(structured, text); d != "" {
		t.Errorf("text and structured content differ:\n%s", d)
	}
	for _, s := range []json.RawMessage{schemas.Full(schema), schemas.Outline(schema)} {
		if err := validator(t, s).Validate(structured); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// validators are compiled once.
var validators = map[string]*jsonschema.Schema{}

func validator(t *testing.T, schema json.RawMessage) *jsonschema.Schema {
	t.Helper()
	if v := validators[string(schema)]; v != nil {
		return v
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	v := c.MustCompile("s.json")
	validators[string(schema)] = v
	return v
}

func TestWrongArgumentsAreExplained(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	log := trainLog(t, 3)
	for _, tc := range []struct {
		name, tool string
		args       map[string]any
		want       string
	}{
		{"unknown name", "tail_log", map[string]any{"taget": log}, `unknown argument "taget"; did you mean "target"?`},
		{"no guess", "tail_log", map[string]any{"target": log, "zzzzzz": 1}, `unknown argument "zzzzzz"`},
		{"wrong type", "tail_log", map[string]any{"target": log, "lines": "many"}, "argument 'lines': got string, want integer"},
		{"out of range", "check_failed_run", map[string]any{"target": log, "last": 0}, "argument 'last': minimum: got 0, want 1"},
		{"not in the list", "check_failed_run", map[string]any{"target": log, "task": "gan"}, "argument 'task': value must be one of 'classification', 'regression', 'language-modeling'"},
		{"no run", "check_failed_run", map[string]any{}, "neither target nor text is given"},
		{"two runs", "check_failed_run", map[string]any{"target": log, "text": "x"}, "both target and text are given"},
		{"bad pattern", "tail_log", map[string]any{"target": log, "match": "(?=x)"}, "match: error parsing regexp: invalid or unsupported Perl syntax: `(?=`"},
		{"bad cursor", "tail_log", map[string]any{"target": log, "cursor": "%%%"}, "cursor: not one that tail_log gave"},
		{"no such file", "tail_log", map[string]any{"target": log, "file": "x.log"}, `file: "x.log" names 0 files of the target`},
		{"no such metric", "extract_metrics", map[string]any{"target": log, "names": []string{"fid"}}, "names: the run reports none of fid"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			f := c.fails(tc.tool, tc.args)
			if f.Kind != report.KindUsage || f.Message != tc.want || f.Ask == "" {
				t.Errorf("want %q, got %+v", tc.want, f)
			}
		})
	}
}

func TestErrorsHaveTheirKind(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	for _, tc := range []struct {
		target string
		want   report.ErrorKind
	}{
		{filepath.Join(t.TempDir(), "nothing.log"), report.KindNotFound},
		{"-", report.KindBadTarget},              // standard input is the protocol
		{"traceback:-", report.KindBadTarget},    // here too
		{"slurm:train.sh", report.KindBadTarget}, // no job id
	} {
		for tool := range resultSchemas {
			if f := c.fails(tool, map[string]any{"target": tc.target}); f.Kind != tc.want || f.Ask == "" {
				t.Errorf("%s %s: want %s, got %+v", tool, tc.target, tc.want, f)
			}
		}
	}
}

func TestADeadlineAndAPanicAreAnswers(t *testing.T) {
	slow := dial(t, newServer(t, tools.Config{Deadline: time.Millisecond, Doctor: doctorFunc(func(ctx context.Context) { <-ctx.Done() })})).hello()
	if f := slow.fails("check_failed_run", map[string]any{"target": "x.log"}); f.Kind != report.KindTimeout {
		t.Errorf("want a timeout, got %+v", f)
	}
	bad := dial(t, newServer(t, tools.Config{Doctor: doctorFunc(func(context.Context) { panic("boom") })})).hello()
	if f := bad.fails("check_failed_run", map[string]any{"target": "x.log"}); f.Kind != report.KindInternal || !strings.Contains(f.Message, "boom") {
		t.Errorf("want an internal error, got %+v", f)
	}
}

type doctorFunc func(ctx context.Context)

func (f doctorFunc) Diagnose(ctx context.Context, _ diagnose.Request) (*diagnose.Result, error) {
	f(ctx)
	return nil, ctx.Err()
}

func TestAnAnswerIsBoundedAndTheWholeIsAResource(t *testing.T) {
	big := doctor{real: realDoctor(t), edit: func(d *report.Diagnosis) {
		for i := range 400 {
			d.EvidenceRefs = append(d.EvidenceRefs, report.EvidenceRef{File: "run.log", Line: i + 10, Role: report.RoleSymptom, Text: strings.Repeat("x", 400)})
		}
		last := len(d.EvidenceRefs) - 1
		d.CauseChain = []report.ChainLink{{Class: "oom", Ref: &last}}
		for i := range 45 {
			d.FailureContext.Lines = append(d.FailureContext.Lines, fmt.Sprintf("line %d %s", i, strings.Repeat("y", 500)))
		}
	}}
	c := dial(t, newServer(t, tools.Config{Doctor: big})).hello()
	log := trainLog(t, 5)
	for _, tool := range []string{"check_failed_run", "classify_failure"} {
		r := c.call(tool, map[string]any{"target": log})
		if n := len(r.Content[0].Text); n > 32<<10 || n < 24<<10 {
			t.Errorf("%s: %d bytes, want at most 32 KB and not much less", tool, n)
		}
		checkResult(t, resultSchemas[tool], r)
		var v struct {
			EvidenceRefs []report.EvidenceRef `json:"evidence_refs"`
			CauseChain   []report.ChainLink   `json:"cause_chain"`
			Cut          []report.Cut         `json:"cut"`
		}
		if err := json.Unmarshal(r.StructuredContent, &v); err != nil {
			t.Fatal(err)
		}
		cut := v.Cut[len(v.Cut)-1]
		if cut.Field != "evidence_refs" || cut.Total != 401 || cut.Kept != len(v.EvidenceRefs) || v.CauseChain[0].Ref != nil {
			t.Errorf("%s: cut %+v, %d kept, chain %+v", tool, cut, len(v.EvidenceRefs), v.CauseChain)
		}
		a := c.request("resources/read", map[string]any{"uri": cut.URI})
		if a.Error != nil || len(a.Result) < 160_000 {
			t.Errorf("%s: the whole is not at %s: %d bytes, %v", tool, cut.URI, len(a.Result), a.Error)
		}
	}
	if r := c.call("check_failed_run", map[string]any{"target": log, "max_bytes": 1_000_000}); len(r.Content[0].Text) < 160_000 {
		t.Errorf("max_bytes does not raise the bound: %d bytes", len(r.Content[0].Text))
	}
}

func TestTheServerKeepsTheLast64Diagnoses(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	log := trainLog(t, 5)
	for range 66 {
		c.call("plan_recovery", map[string]any{"target": log})
	}
	if a := c.request("resources/read", map[string]any{"uri": "run://id-1"}); a.Error == nil {
		t.Error("the first diagnosis is still there")
	}
	if a := c.request("resources/read", map[string]any{"uri": "run://id-66"}); a.Error != nil {
		t.Errorf("the last diagnosis is gone: %+v", *a.Error)
	}
	a := c.request("resources/list", map[string]any{})
	if n := bytes.Count(a.Result, []byte(`"run://`)); n != 64 {
		t.Errorf("%d diagnoses are listed, want 64", n)
	}
}

func TestOutDirTakesTheArtifact(t *testing.T) {
	c := dial(t, newServer(t, tools.Config{})).hello()
	log, dir := trainLog(t, 5), t.TempDir()
	c.call("check_failed_run", map[string]any{"target": log, "out_dir": dir, "run_id": "r7"})
	b, err := os.ReadFile(filepath.Join(dir, report.CheckArtifact))
	if err != nil || !bytes.Contains(b, []byte(`"run_id": "r7"`)) {
		t.Errorf("artifact: %v\n%s", err, b)
	}
	if f := c.fails("check_failed_run", map[string]any{"target": log, "out_dir": filepath.Join(dir, "missing")}); f.Kind != report.KindUsage {
		t.Errorf("want a usage error, got %+v", f)
	}
}

func TestSecretsAndEscapesStayHere(t *testing.T) {
	token := "hf" + "_" + strings.Repeat("aB3d", 9)
	log := write(t, "run.log", "step 1/2 loss=1.0\n\x1b[31mlogin with "+token+"\u202e\x1b[0m\n")
	leaky := doctor{real: realDoctor(t), edit: func(d *report.Diagnosis) { d.Evidence = []string{"run.log:2: login with " + token} }}
	c := dial(t, newServer(t, tools.Config{Doctor: leaky})).hello()
	for tool := range resultSchemas {
		r := c.call(tool, map[string]any{"target": log})
		if s := r.Content[0].Text; strings.Contains(s, "aB3daB3d") || strings.ContainsAny(s, "\x1b\u202e") || strings.Contains(s, `\u001b`) {
			t.Errorf("%s: %s", tool, s)
		}
	}
}

func TestAClientThatHangsUpStillGetsItsAnswers(t *testing.T) {
	ask := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"tail_log","arguments":{"text":"a line"}}}` + "\n"
	var out bytes.Buffer
	if err := newServer(t, tools.Config{}).ServeStdio(t.Context(), strings.NewReader(ask), &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	if s := out.String(); !strings.Contains(s, "a line") || strings.Contains(s, "cancelled") {
		t.Error(s)
	}
}
