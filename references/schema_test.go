package references_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/schemas"
)

// node is as much of a JSON Schema as the tables show.
type node struct {
	Ref        string           `json:"$ref"`
	Type       string           `json:"type"`
	Format     string           `json:"format"`
	Enum       []string         `json:"enum"`
	Items      *node            `json:"items"`
	OneOf      []*node          `json:"oneOf"`
	Properties *properties      `json:"properties"`
	Additional json.RawMessage  `json:"additionalProperties"`
	Defs       map[string]*node `json:"$defs"`
}

// properties keeps the order of the Go fields, which is the order of the JSON.
type properties struct {
	names []string
	of    map[string]*node
}

// UnmarshalJSON implements json.Unmarshaler.
func (p *properties) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, &p.of); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil { // {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		p.names = append(p.names, fmt.Sprint(name))
		var skip json.RawMessage
		if err := d.Decode(&skip); err != nil {
			return err
		}
	}
	return nil
}

// schemaTables has one table for each schema and one for the parts that
// several share.
func schemaTables(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	parts := map[string]*node{}
	for _, name := range schemas.Names() {
		var n node
		if err := json.Unmarshal(schemas.Full(name), &n); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out["schema:"+name] = fieldTable(&n)
		maps.Copy(parts, n.Defs)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(parts)) {
		fmt.Fprintf(&b, "**%s**\n\n%s\n", name, fieldTable(parts[name]))
	}
	out["schema-parts"] = b.String()
	return out
}

func fieldTable(n *node) string {
	s := head("Field", "Type")
	for _, name := range n.Properties.names {
		s += row(code(name), n.Properties.of[name].say())
	}
	return s
}

// say is the type in words.
func (n *node) say() string {
	switch {
	case n.Ref != "":
		return strings.TrimPrefix(n.Ref, "#/$defs/")
	case len(n.OneOf) > 0:
		var of []string
		for _, o := range n.OneOf {
			of = append(of, o.say())
		}
		return strings.Join(of, " or ")
	case len(n.Enum) > 3 && slices.Contains(n.Enum, "unknown"):
		return "one of the classes"
	case len(n.Enum) > 0:
		return codes(n.Enum)
	case n.Type == "array":
		return "list of " + n.Items.say()
	case n.Type == "object" && len(n.Additional) > 0 && n.Additional[0] == '{':
		var of node
		if err := json.Unmarshal(n.Additional, &of); err != nil {
			return "object"
		}
		return "object of " + of.say()
	case n.Format != "":
		return n.Type + " (" + n.Format + ")"
	}
	return n.Type
}
