// Package schemas holds the JSON Schemas (draft 2020-12) of the artifact and of
// every tool result. They are generated from the Go types; a test of this
// package keeps them fresh.
package schemas

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
)

//go:embed *.schema.json
var files embed.FS

const suffix = ".schema.json"

// Names lists the schemas in alphabetical order, without the file's ending.
func Names() []string {
	entries, err := files.ReadDir(".")
	if err != nil {
		panic(fmt.Sprintf("schemas: %v", err))
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), suffix))
	}
	return names
}

// Full is the whole schema; nil if there is none of that name.
func Full(name string) json.RawMessage {
	b, err := files.ReadFile(name + suffix)
	if err != nil {
		return nil
	}
	return b
}

// Outline is what tools/list shows of a schema: the top-level names with their
// types and enums; what is nested is a plain object. It panics when there is no
// such schema, which the start of a server would show.
func Outline(name string) json.RawMessage {
	var full node
	if err := json.Unmarshal(Full(name), &full); err != nil {
		panic(fmt.Sprintf("schemas: outline of %s: %v", name, err))
	}
	out := node{Type: "object", Properties: map[string]*node{}, Required: full.Required}
	for key, p := range full.Properties {
		out.Properties[key] = full.outline(p)
	}
	b, err := json.Marshal(out)
	if err != nil {
		panic(fmt.Sprintf("schemas: outline of %s: %v", name, err))
	}
	return b
}

// node is as much of a schema as an outline needs.
type node struct {
	Ref        string           `json:"$ref,omitempty"`
	Type       any              `json:"type,omitempty"`
	Enum       []any            `json:"enum,omitempty"`
	Items      *node            `json:"items,omitempty"`
	OneOf      []*node          `json:"oneOf,omitempty"`
	Properties map[string]*node `json:"properties,omitempty"`
	Required   []string         `json:"required,omitempty"`
	Defs       map[string]*node `json:"$defs,omitempty"`
}

// outline keeps scalars, and of lists and nullable values what they hold.
func (n *node) outline(p *node) *node {
	if def, ok := strings.CutPrefix(p.Ref, "#/$defs/"); ok && n.Defs[def] != nil {
		return n.outline(n.Defs[def])
	}
	out := &node{Type: p.Type, Enum: p.Enum}
	for _, o := range p.OneOf {
		out.OneOf = append(out.OneOf, n.outline(o))
	}
	if p.Items != nil {
		out.Items = n.outline(p.Items)
	}
	return out
}
