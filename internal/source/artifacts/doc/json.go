package doc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// JSON reads one JSON value. Beyond the standard it takes what Python writes
// (NaN, Infinity, -Infinity), // and /* */ comments and trailing commas.
func JSON(b []byte) (*Node, error) {
	p := &parser{b: bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")), line: 1}
	n, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if p.space(); p.i < len(p.b) {
		return nil, p.fail("text after the value")
	}
	return n, nil
}

// JSONLines reads one JSON value a line, at most limit of them; lines that are
// not JSON are left out and counted.
func JSONLines(b []byte, limit int) (rows []*Node, bad int) {
	line := 0
	for len(b) > 0 && len(rows) < limit {
		var l []byte
		l, b, _ = bytes.Cut(b, []byte{'\n'})
		line++
		if l = bytes.TrimSpace(l); len(l) == 0 {
			continue
		}
		n, err := JSON(l)
		if err != nil || n.Kind != Map {
			bad++
			continue
		}
		n.Shift(line - 1)
		rows = append(rows, n)
	}
	return rows, bad
}

// Shift moves a tree down by some lines, for one that was read out of a larger
// text.
func (n *Node) Shift(by int) {
	n.Line += by
	for _, c := range n.Items {
		c.Shift(by)
	}
}

type parser struct {
	b     []byte
	i     int
	line  int
	nodes int
}

func (p *parser) fail(what string) error { return fmt.Errorf("doc: json line %d: %s", p.line, what) }

func (p *parser) space() {
	for p.i < len(p.b) {
		switch c := p.b[p.i]; {
		case c == '\n':
			p.line++
			p.i++
		case c == ' ' || c == '\t' || c == '\r':
			p.i++
		case c == '/' && !p.comment():
			return
		case c != '/':
			return
		}
	}
}

// comment skips one; false when there is none.
func (p *parser) comment() bool {
	rest := p.b[p.i:]
	end := -1
	switch {
	case bytes.HasPrefix(rest, []byte("//")):
		if end = bytes.IndexByte(rest, '\n'); end < 0 {
			end = len(rest)
		}
	case bytes.HasPrefix(rest, []byte("/*")):
		if end = bytes.Index(rest, []byte("*/")); end >= 0 {
			end += 2
		}
	}
	if end < 0 {
		return false
	}
	p.line += bytes.Count(rest[:end], []byte{'\n'})
	p.i += end
	return true
}

func (p *parser) value(depth int) (*Node, error) {
	p.space()
	if p.nodes++; p.nodes > maxNodes || depth > maxDepth {
		return nil, errTooBig
	}
	if p.i >= len(p.b) {
		return nil, p.fail("ends too early")
	}
	n := &Node{Line: p.line}
	switch c := p.b[p.i]; c {
	case '{':
		n.Kind = Map
		return n, p.items(n, depth, '}')
	case '[':
		n.Kind = List
		return n, p.items(n, depth, ']')
	case '"':
		n.Kind = String
		var err error
		n.Text, err = p.text()
		return n, err
	}
	return n, p.word(n)
}

// items reads the inside of a list or map.
func (p *parser) items(n *Node, depth int, end byte) error {
	p.i++
	for {
		p.space()
		if p.i >= len(p.b) {
			return p.fail("ends too early")
		}
		if p.b[p.i] == end {
			p.i++
			return nil
		}
		c, err := p.item(depth, end == '}')
		if err != nil {
			return err
		}
		n.Items = append(n.Items, c)
		if p.space(); p.i < len(p.b) && p.b[p.i] == ',' {
			p.i++
		} else if p.i >= len(p.b) || p.b[p.i] != end {
			return p.fail("no comma between values")
		}
	}
}

func (p *parser) item(depth int, keyed bool) (*Node, error) {
	if !keyed {
		return p.value(depth + 1)
	}
	line := p.line
	key, err := p.text()
	if err != nil {
		return nil, err
	}
	if p.space(); p.i >= len(p.b) || p.b[p.i] != ':' {
		return nil, p.fail("no colon after a key")
	}
	p.i++
	n, err := p.value(depth + 1)
	if err != nil {
		return nil, err
	}
	n.Key, n.Line = key, line
	return n, nil
}

// text reads a string.
func (p *parser) text() (string, error) {
	if p.i >= len(p.b) || p.b[p.i] != '"' {
		return "", p.fail("no string where one belongs")
	}
	for j := p.i + 1; j < len(p.b); j++ {
		switch p.b[j] {
		case '\\':
			j++
		case '\n':
			return "", p.fail("a line end within a string")
		case '"':
			raw := p.b[p.i : j+1]
			p.i = j + 1
			var s string
			if json.Unmarshal(raw, &s) != nil {
				s = strings.ToValidUTF8(string(raw[1:len(raw)-1]), "�")
			}
			return s, nil
		}
	}
	return "", p.fail("a string without its end")
}

// word reads a number or a constant.
func (p *parser) word(n *Node) error {
	j := p.i
	for j < len(p.b) && !bytes.ContainsRune([]byte(" \t\r\n,]}:/\"{["), rune(p.b[j])) {
		j++
	}
	w := string(p.b[p.i:j])
	p.i = j
	n.Text = w
	switch w {
	case "null":
		n.Kind = Null
		return nil
	case "true", "false":
		n.Kind = Bool
		return nil
	case "NaN", "Infinity", "-Infinity":
		n.Kind = Number
		return nil
	}
	if !json.Valid([]byte(w)) {
		return p.fail("no JSON value")
	}
	n.Kind = Number
	return nil
}
