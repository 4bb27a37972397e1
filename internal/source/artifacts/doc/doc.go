// Package doc reads JSON, YAML, TOML and argument lists as one kind of tree in
// which every key knows its line, so that a configuration value can be shown
// where it stands. It is lenient where real files are (NaN in JSON, comments)
// and bounded: a hostile file costs at most maxNodes nodes.
package doc

import (
	"errors"
	"regexp"
	"strconv"
	"strings"
)

// Kind is the type of a node.
type Kind int

// The kinds of node.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

// Node is one value. Text is a scalar as it is spelled (a string without its
// quotes). Items are the elements of a list, or the values of a map in order.
type Node struct {
	Kind  Kind
	Key   string // in a map
	Text  string
	Line  int // 1-based, of the key in a map, else of the value
	Items []*Node
}

// Bounds of a tree.
const (
	maxNodes = 500_000
	maxDepth = 64
)

var errTooBig = errors.New("doc: too deep or too large")

// Get follows keys down the tree; nil when one of them is missing. It is safe
// on a nil node.
func (n *Node) Get(keys ...string) *Node {
	for _, k := range keys {
		n = n.child(k)
	}
	return n
}

func (n *Node) child(key string) *Node {
	if n == nil || n.Kind != Map {
		return nil
	}
	for _, c := range n.Items {
		if c.Key == key {
			return c
		}
	}
	return nil
}

// First is the first of several spellings of one key that is there.
func (n *Node) First(keys ...string) *Node {
	for _, k := range keys {
		if c := n.child(k); c != nil {
			return c
		}
	}
	return nil
}

// Str is the text of a scalar, "" for everything else. It is safe on nil.
func (n *Node) Str() string {
	if n == nil || n.Kind == List || n.Kind == Map || n.Kind == Null {
		return ""
	}
	return n.Text
}

// At is the line of a node, 0 for nil.
func (n *Node) At() int {
	if n == nil {
		return 0
	}
	return n.Line
}

// List is the elements of a list, none for everything else. It is safe on nil.
func (n *Node) List() []*Node {
	if n == nil || n.Kind != List {
		return nil
	}
	return n.Items
}

// Members are the values of a map in order, none for everything else.
func (n *Node) Members() []*Node {
	if n == nil || n.Kind != Map {
		return nil
	}
	return n.Items
}

var bareNumber = regexp.MustCompile(`^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$`)

// Quoted reports whether a node is a string that holds a bare number: equal to
// look at, not to ==.
func (n *Node) Quoted() bool { return n.Kind == String && bareNumber.MatchString(n.Text) }

// Flatten gives each scalar with its dotted key, in order, until yield says to
// stop. A short list of scalars is one value, "[a, b]". W&B's {value: …, desc: …}
// wrappers are taken off.
func (n *Node) Flatten(yield func(key string, n *Node) bool) { n.flatten("", yield) }

func (n *Node) flatten(prefix string, yield func(string, *Node) bool) bool {
	n = n.unwrap()
	switch {
	case n.Kind == Map && len(n.Items) > 0:
		for _, c := range n.Items {
			if c.Key == "_wandb" && prefix == "" {
				continue
			}
			if !c.flatten(join(prefix, c.Key), yield) {
				return false
			}
		}
		return true
	case n.Kind == List && !n.flat():
		for i, c := range n.Items {
			if !c.flatten(join(prefix, strconv.Itoa(i)), yield) {
				return false
			}
		}
		return true
	case n.Kind == List || n.Kind == Map:
		return yield(prefix, &Node{Kind: n.Kind, Text: n.brief(), Line: n.Line})
	}
	return yield(prefix, n)
}

// unwrap takes {value: x, desc: y} off x and keeps the line of x.
func (n *Node) unwrap() *Node {
	v := n.child("value")
	if v == nil || len(n.Items) > 2 || (len(n.Items) == 2 && n.child("desc") == nil) {
		return n
	}
	u := *v
	u.Key = n.Key
	return &u
}

func (n *Node) flat() bool {
	for _, c := range n.Items {
		if c.Kind == Map || c.Kind == List {
			return false
		}
	}
	return true
}

// brief is a list of scalars as one text, cut to a readable length.
func (n *Node) brief() string {
	if n.Kind == Map {
		return "{}"
	}
	var b strings.Builder
	b.WriteByte('[')
	for i, c := range n.Items {
		if i > 0 {
			b.WriteString(", ")
		}
		if b.Len() > 400 {
			b.WriteString("…")
			break
		}
		b.WriteString(c.Text)
	}
	b.WriteByte(']')
	return b.String()
}

func join(prefix, key string) string {
	if prefix == "" {
		return key
	}
	return prefix + "." + key
}
