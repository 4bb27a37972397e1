package doc_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
)

func flat(n *doc.Node) (out []string) {
	n.Flatten(func(key string, v *doc.Node) bool {
		out = append(out, fmt.Sprintf("%s=%s kind %d line %d", key, v.Text, v.Kind, v.Line))
		return true
	})
	return out
}

func TestRead(t *testing.T) {
	json := func(b []byte) (*doc.Node, error) { return doc.JSON(b) }
	for _, c := range []struct {
		name string
		read func([]byte) (*doc.Node, error)
		in   string
		want []string
	}{
		{"JSON", json, "{\"a\": 1,\n \"b\": {\"c\": \"16\",\n \"d\": [1, 2]}, \"e\": null}", []string{"a=1 kind 2 line 1", "b.c=16 kind 3 line 2", "b.d=[1, 2] kind 4 line 3", "e=null kind 0 line 3"}},
		{"JSON beyond the standard", json, "// x\n{\"a\": NaN, /* y\n */ \"b\": -Infinity,}", []string{"a=NaN kind 2 line 2", "b=-Infinity kind 2 line 3"}},
		{"JSON strings", json, `{"a": "NaN, \"x\" \u00e9\\", "b": []}`, []string{`a=NaN, "x" é\ kind 3 line 1`, "b=[] kind 4 line 1"}},
		{"JSON with a mark", json, "\xef\xbb\xbf{\"a\":true}", []string{"a=true kind 1 line 1"}},
		{"lists of maps", json, `{"l":[{"a":1},{"a":2}]}`, []string{"l.0.a=1 kind 2 line 1", "l.1.a=2 kind 2 line 1"}},
		{"YAML", doc.YAML, "a: 1\nb:\n  c: \"16\"\n  d: &x yes\ne: *x\n", []string{"a=1 kind 2 line 1", "b.c=16 kind 3 line 3", "b.d=yes kind 3 line 4", "e=yes kind 3 line 5"}},
		{"YAML of W&B", doc.YAML, "_wandb:\n  value: {x: 1}\nlr:\n  desc: null\n  value: 0.1\n", []string{"lr=0.1 kind 2 line 5"}},
		{"TOML", doc.TOML, "[a.b]\nc = 1 # one\nd = 'x'\n# e = 2\n", []string{"a.b.c=1 kind 2 line 2", "a.b.d=x kind 3 line 3"}},
		{"arguments", doc.Args, "--lr 0.1\n--bf16\nname: x y\nloss went down to 3\n", []string{"lr=0.1 kind 2 line 1", "bf16=true kind 1 line 2", "name=x y kind 3 line 3"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, err := c.read([]byte(c.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, flat(n)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRefuse(t *testing.T) {
	for _, in := range []string{"", "{", `{"a":`, `{"a" 1}`, `{"a":1 "b":2}`, "[1 2]", "{}x", `"a`, "\"a\nb\"", "nul", "01", strings.Repeat("[", 1000)} {
		if _, err := doc.JSON([]byte(in)); err == nil {
			t.Errorf("JSON read %q", in)
		}
	}
	bomb := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	if _, err := doc.YAML([]byte(bomb)); err == nil {
		t.Error("YAML read a bomb of aliases")
	}
}

func TestNilNodes(t *testing.T) {
	var n *doc.Node
	if n.Get("a", "b").Str() != "" || n.At() != 0 || n.List() != nil || n.Members() != nil || n.First("a") != nil {
		t.Error("a nil node is not empty")
	}
}

func TestJSONLines(t *testing.T) {
	rows, bad := doc.JSONLines([]byte("{\"a\":1}\n\nnot\n{\"a\":2}\n{\"a\":3}\n"), 2)
	if len(rows) != 2 || bad != 1 || rows[1].Get("a").Line != 4 {
		t.Errorf("%d rows, %d bad, second at line %d", len(rows), bad, rows[1].Get("a").Line)
	}
}

func fuzz(f *testing.F, read func([]byte) (*doc.Node, error), seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := read(b)
		if err != nil {
			return
		}
		lines := strings.Count(string(b), "\n") + 1
		n.Flatten(func(key string, v *doc.Node) bool {
			if v.Line < 0 || v.Line > lines+1 {
				t.Errorf("%q stands at line %d of %d", key, v.Line, lines)
			}
			return true
		})
	})
}

func FuzzJSON(f *testing.F) { fuzz(f, doc.JSON, `{"a": [1, NaN, "x\n"], /* c */ "b": {}}`, "[[[") }
func FuzzYAML(f *testing.F) { fuzz(f, doc.YAML, "a: &x {b: [1, 2]}\nc: *x\n---\nd: |\n  text\n") }
func FuzzArgs(f *testing.F) { fuzz(f, doc.Args, "--a b\nc: d\n") }
func FuzzTOML(f *testing.F) { fuzz(f, doc.TOML, "[a]\nb = 'c'\n") }
