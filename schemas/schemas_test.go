package schemas_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/schemas"
	"github.com/trainmedic/trainmedic/tools"
)

var update = flag.Bool("update", false, "write the schemas anew")

// described are the types behind the schemas.
var described = map[string]any{
	"check-failed-run": report.Diagnosis{},
	"error":            report.ErrorEnvelope{},
	"fetch_target":     tools.Listing{},
	"tail_log":         tools.LogLines{},
	"extract_metrics":  tools.Metrics{},
	"classify_failure": tools.Classification{},
	"plan_recovery":    tools.Plan{},
	"monitor_run":      tools.WatchState{},
	"babysit-training": report.WatchReport{},
	"run_action":       tools.ActionResult{},
	"await_approval":   tools.Approval{},
}

func generate(t *testing.T, v any) []byte {
	t.Helper()
	r := jsonschema.Reflector{ExpandedStruct: true, Anonymous: true, Mapper: special}
	s := r.Reflect(v)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// special are the types whose JSON is not what their Go type suggests.
func special(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[report.Number]():
		return &jsonschema.Schema{OneOf: []*jsonschema.Schema{
			{Type: "number"}, {Type: "string", Enum: []any{"NaN", "Infinity", "-Infinity"}},
		}}
	case reflect.TypeFor[report.Class]():
		s := &jsonschema.Schema{Type: "string"}
		for _, c := range append(slices.Clone(report.Classes), report.None, report.Unknown) {
			s.Enum = append(s.Enum, string(c))
		}
		return s
	}
	return nil
}

func TestSchemasAreFresh(t *testing.T) {
	if d := cmp.Diff(slices.Sorted(maps.Keys(described)), schemas.Names()); d != "" && !*update {
		t.Errorf("schemas in the folder (-want +got):\n%s", d)
	}
	for name, v := range described {
		want, file := generate(t, v), name+".schema.json"
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if d := cmp.Diff(string(want), string(schemas.Full(name))); d != "" {
			t.Errorf("%s is stale; run: go test ./schemas -update\n%s", file, d)
		}
	}
}

func TestSchemasCompileAndOutlinesAcceptWhatTheyAccept(t *testing.T) {
	d := report.NewDiagnosis()
	d.RunStatus, d.PrimaryCause, d.Decision, d.Confidence = report.Crashed, report.OOM, report.NoGo, report.ConfidenceLow
	d.Timestamp = "2026-07-14T05:40:12Z"
	step := int64(7)
	d.Metrics["loss"] = report.Metric{Last: report.Number(nan()), FirstNonFiniteStep: &step}
	instance := asJSON(t, d)
	for _, s := range []json.RawMessage{schemas.Full("check-failed-run"), schemas.Outline("check-failed-run")} {
		if err := compile(t, s).Validate(instance); err != nil {
			t.Errorf("a diagnosis is not valid: %v", err)
		}
	}
	for _, name := range schemas.Names() {
		compile(t, schemas.Full(name))
		o := schemas.Outline(name)
		compile(t, o)
		if bytes.Contains(o, []byte("$")) {
			t.Errorf("the outline of %s has a reference: %s", name, o)
		}
	}
}

func nan() float64 { var z float64; return z / z }

func asJSON(t *testing.T, v any) any {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := validator.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func compile(t *testing.T, schema json.RawMessage) *validator.Schema {
	t.Helper()
	doc, err := validator.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatal(err)
	}
	c := validator.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("s.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}
