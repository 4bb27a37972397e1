package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/trainmedic/trainmedic/internal/page"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/schemas"
)

// tool is one MCP tool. Its arguments are the common ones and its own.
type tool struct {
	name, title, doc string
	args             map[string]any // JSON Schema of its own arguments, by name
	result           string         // the name of its result's schema
	writes           bool           // whether it can write a file
	explains         bool           // tools/list explains the common arguments here
	watches          bool           // it takes a run that goes on, or a watch of one, and may wait long
	bare             bool           // it has no arguments but its own, checks them itself, and may wait long
	acts             bool           // it changes the world
	app              bool           // a host that shows apps shows the report beside the answer

	run func(ctx context.Context, s *Server, a args) (any, error)

	input     object // what is accepted
	shown     object // what tools/list says of it
	validator *jsonschema.Schema
}

// object is a JSON Schema.
type object = map[string]any

// common are the arguments of every tool that takes a run.
func common(kinds source.Registry) object {
	return object{
		"target":       text(targetDoc(kinds)),
		"text":         text("A pasted log or traceback, instead of target."),
		"project":      text("GCP project."),
		"region":       text("GCP region (us-central1)."),
		"artifacts":    text("Artifact directory beside the target."),
		"framework":    enum("What the run uses, if you know.", frameworks...),
		"task":         enum("What to expect of the metrics.", tasks...),
		"label_column": text("Label column to check in data samples."),
		"last":         integer("Read only the last N lines.", 1, 100_000_000),
		"max_bytes":    integer("Bound of the result (32768).", 2_000, 10_000_000),
	}
}

// brief is common for tools/list, which has to stay small: check_failed_run
// explains the arguments for all tools.
func brief() object {
	str, num := object{"type": "string"}, object{"type": "integer"}
	return object{
		"target": text("The run, as for check_failed_run."), "text": text("Or a pasted log or traceback."),
		"project": str, "region": str, "artifacts": str, "framework": str, "task": str, "label_column": str,
		"last": num, "max_bytes": num,
	}
}

// targetDoc names the forms of a target; a pasted text has its own argument.
func targetDoc(kinds source.Registry) string {
	var forms []string
	for _, k := range kinds {
		if k.Scheme != "traceback" {
			example := strings.ReplaceAll(k.Example, "- | ", "")
			if _, ref, ok := strings.Cut(example, "--"+k.Flag+" "); ok {
				example = k.Scheme + ":" + ref // there are no flags here
			}
			forms = append(forms, example+" ("+k.Doc+")")
		}
	}
	return "The run: " + strings.Join(forms, "; ") + "."
}

var (
	frameworks = []string{"pytorch", "lightning", "deepspeed", "fsdp", "transformers", "accelerate", "megatron", "nemo", "tensorflow", "keras", "jax"}
	tasks      = []string{"classification", "regression", "language-modeling"}
)

func text(doc string) object { return object{"type": "string", "description": doc} }

func enum(doc string, values ...string) object {
	return object{"type": "string", "enum": values, "description": doc}
}

func integer(doc string, min, max int) object {
	return object{"type": "integer", "minimum": min, "maximum": max, "description": doc}
}

// compile makes the input schema and its validator; it panics on a mistake in
// our own tables, as a program's start may.
func (t *tool) compile(kinds source.Registry) {
	t.input = t.arguments(common(kinds))
	if t.shown = t.input; !t.explains {
		t.shown = t.arguments(brief())
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(mustJSON(t.input))))
	if err != nil {
		panic(fmt.Sprintf("tools: %s: %v", t.name, err))
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource(t.name, doc); err != nil {
		panic(fmt.Sprintf("tools: %s: %v", t.name, err))
	}
	t.validator = c.MustCompile(t.name)
}

// arguments is the input schema of the common arguments and the tool's own.
func (t *tool) arguments(props object) object {
	if t.bare {
		props = object{}
	}
	if t.watches { // a text does not go on, and a watch reads whole logs
		delete(props, "text")
		delete(props, "last")
	}
	maps.Copy(props, t.args)
	return object{"type": "object", "properties": props, "additionalProperties": false}
}

// mcp is the tool as tools/list shows it.
func (t *tool) mcp() mcp.Tool {
	no := false
	readOnly, idempotent := !t.writes && !t.acts, !t.acts
	out := mcp.NewToolWithRawSchema(t.name, t.doc, mustJSON(t.shown))
	out.RawOutputSchema = schemas.Outline(t.result)
	out.Annotations = mcp.ToolAnnotation{
		Title:           t.title,
		ReadOnlyHint:    &readOnly,
		DestructiveHint: &t.acts,
		IdempotentHint:  &idempotent,
		OpenWorldHint:   &no,
	}
	if t.app {
		out.Meta = mcp.NewMetaFromMap(object{"ui": object{"resourceUri": page.AppURI}})
	}
	return out
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("tools: %v", err))
	}
	return b
}
