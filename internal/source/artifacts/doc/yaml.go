package doc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAML reads a YAML file. Several documents in one file become a list.
func YAML(b []byte) (n *Node, err error) {
	defer func() { // the parser panics on some hostile input
		if p := recover(); p != nil {
			n, err = nil, fmt.Errorf("doc: yaml: %v", p)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(b))
	all := &Node{Kind: List, Line: 1}
	c := &converter{lines: newLines(b)}
	for {
		var y yaml.Node
		if err := dec.Decode(&y); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("doc: %w", err)
		}
		n, err := c.convert(&y, 0)
		if err != nil {
			return nil, err
		}
		all.Items = append(all.Items, n)
	}
	switch len(all.Items) {
	case 0:
		return &Node{Kind: Null, Line: 1}, nil
	case 1:
		return all.Items[0], nil
	}
	return all, nil
}

type converter struct {
	nodes int
	lines []int // the line of each of YAML's lines, nil when they are the same
}

// newLines maps YAML's lines to ours: in YAML a lone \r and three Unicode
// characters end a line too.
func newLines(b []byte) []int {
	s := string(b)
	if !strings.ContainsAny(strings.ReplaceAll(s, "\r\n", "\n"), "\r\u0085\u2028\u2029") {
		return nil
	}
	lines, line := []int{0, 1}, 1
	for i, r := range s {
		switch r {
		case '\r':
			if strings.HasPrefix(s[i:], "\r\n") {
				continue
			}
		case '\n':
			line++
		case '\u0085', '\u2028', '\u2029':
		default:
			continue
		}
		lines = append(lines, line)
	}
	return lines
}

func (c *converter) line(n int) int {
	if c.lines == nil || n < 0 {
		return max(n, 0)
	}
	return c.lines[min(n, len(c.lines)-1)]
}

func (c *converter) convert(y *yaml.Node, depth int) (*Node, error) {
	if c.nodes++; c.nodes > maxNodes || depth > maxDepth {
		return nil, errTooBig
	}
	n := &Node{Line: c.line(y.Line)}
	switch y.Kind {
	case yaml.DocumentNode:
		if len(y.Content) == 0 {
			return n, nil
		}
		return c.convert(y.Content[0], depth)
	case yaml.AliasNode:
		return c.convert(y.Alias, depth+1)
	case yaml.ScalarNode:
		n.Text, n.Kind = y.Value, scalarKind(y.ShortTag())
		return n, nil
	case yaml.SequenceNode:
		n.Kind = List
		for _, e := range y.Content {
			m, err := c.convert(e, depth+1)
			if err != nil {
				return nil, err
			}
			n.Items = append(n.Items, m)
		}
	case yaml.MappingNode:
		n.Kind = Map
		return n, c.members(n, y, depth)
	}
	return n, nil
}

func (c *converter) members(n *Node, y *yaml.Node, depth int) error {
	for i := 0; i+1 < len(y.Content); i += 2 {
		m, err := c.convert(y.Content[i+1], depth+1)
		if err != nil {
			return err
		}
		m.Key, m.Line = y.Content[i].Value, c.line(y.Content[i].Line)
		n.Items = append(n.Items, m)
	}
	return nil
}

func scalarKind(tag string) Kind {
	switch tag {
	case "!!int", "!!float":
		return Number
	case "!!bool":
		return Bool
	case "!!null":
		return Null
	}
	return String
}

// TOML reads the part of TOML that configurations use: [sections] and
// key = value on one line; a value over several lines is taken as its first.
func TOML(b []byte) (*Node, error) { return pairs(b, "=", true) }

// Args reads "key: value", "key=value" and "--key value" lines, as training
// scripts print their arguments.
func Args(b []byte) (*Node, error) {
	n, err := pairs(b, ":=", false)
	if err != nil || len(n.Items) == 0 {
		return nil, errors.New("doc: no arguments in it")
	}
	return n, nil
}

// pairs reads one key and value a line.
func pairs(b []byte, seps string, sections bool) (*Node, error) {
	root := &Node{Kind: Map, Line: 1}
	prefix := ""
	for i, l := range strings.Split(string(b), "\n") {
		l = strings.TrimSpace(l)
		if i > maxNodes {
			return nil, errTooBig
		}
		if sections && strings.HasPrefix(l, "[") {
			prefix = strings.Trim(l, "[] ") + "."
			continue
		}
		key, val, ok := pair(l, seps)
		if !ok {
			continue
		}
		root.Items = append(root.Items, scalar(prefix+key, val, i+1))
	}
	return root, nil
}

func pair(l, seps string) (string, string, bool) {
	if l == "" || l[0] == '#' || l[0] == ';' {
		return "", "", false
	}
	flag := strings.HasPrefix(l, "--")
	l = strings.TrimLeft(l, "-")
	i := strings.IndexAny(l, seps)
	if sp := strings.IndexByte(l, ' '); flag && sp > 0 && (i < 0 || sp < i) {
		i = sp
	}
	if i <= 0 {
		return l, "true", flag && l != ""
	}
	key := strings.TrimSpace(l[:i])
	if strings.ContainsAny(key, " \t(){}\"'") {
		return "", "", false
	}
	return key, strings.TrimSpace(l[i+1:]), true
}

func scalar(key, val string, line int) *Node {
	n := &Node{Key: key, Text: val, Line: line, Kind: String}
	if len(val) >= 2 && (val[0] == '"' || val[0] == '\'') {
		if j := strings.IndexByte(val[1:], val[0]); j >= 0 {
			n.Text = val[1 : 1+j]
		}
		return n
	}
	if before, _, ok := strings.Cut(val, " #"); ok {
		n.Text = strings.TrimSpace(before)
	}
	switch _, err := strconv.ParseFloat(n.Text, 64); {
	case err == nil:
		n.Kind = Number
	case n.Text == "true" || n.Text == "false" || n.Text == "True" || n.Text == "False":
		n.Kind = Bool
	case n.Text == "None" || n.Text == "null":
		n.Kind = Null
	}
	return n
}
