package references_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The lists of formats, names and words are not exported; they are read from
// the source, which is what the documents are about.

// parsed are the files of a package folder, tests excluded.
func parsed(t *testing.T, dir string) []*ast.File {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: no Go files (%v)", dir, err)
	}
	var out []*ast.File
	for _, n := range names {
		if strings.HasSuffix(n, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), n, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

// literal is the composite literal that a package variable is set to.
func literal(t *testing.T, files []*ast.File, name string) *ast.CompositeLit {
	t.Helper()
	for _, f := range files {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				if v.Names[0].Name != name || len(v.Values) == 0 {
					continue
				}
				if lit, ok := v.Values[0].(*ast.CompositeLit); ok {
					return lit
				}
			}
		}
	}
	t.Fatalf("there is no variable %s any more; correct references/source_test.go", name)
	return nil
}

// text is a string literal, or the name of what stands there.
func text(e ast.Expr) string {
	switch v := e.(type) {
	case *ast.BasicLit:
		if s, err := strconv.Unquote(v.Value); err == nil {
			return s
		}
	case *ast.Ident:
		return v.Name
	case *ast.SelectorExpr:
		return v.Sel.Name
	}
	return ""
}

// docs are the comments of the functions of a package, as one paragraph.
func docs(files []*ast.File) map[string]string {
	out := map[string]string{}
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Doc != nil {
				out[fn.Name.Name] = strings.Join(strings.Fields(fn.Doc.Text()), " ")
			}
		}
	}
	return out
}

// formatTable lists the forms of line in the order in which they are tried.
func formatTable(t *testing.T) string {
	files := parsed(t, "internal/logformat")
	doc := docs(files)
	s := head("Format", "What its reader does")
	for _, e := range literal(t, files, "formats").Elts {
		fields := e.(*ast.CompositeLit).Elts
		reader := text(fields[len(fields)-1])
		s += row(code(text(fields[0])), strings.TrimPrefix(doc[reader], reader+" "))
	}
	return s
}

// familyTable lists the programs whose lines the general reader tells apart.
func familyTable(t *testing.T) string {
	signs := map[string][]string{}
	var order []string
	for _, e := range literal(t, parsed(t, "internal/logformat"), "families").Elts {
		fields := e.(*ast.CompositeLit).Elts
		name := text(fields[0])
		var words []string
		for _, w := range fields[1].(*ast.CompositeLit).Elts {
			words = append(words, code(text(w)))
		}
		if signs[name] == nil {
			order = append(order, name)
		}
		signs[name] = append(signs[name], strings.Join(words, " and "))
	}
	s := head("Program", "Its lines hold")
	for _, name := range order {
		s += row(code(name), strings.Join(signs[name], "; or "))
	}
	return s
}

// nameTable lists the canonical metrics with their spellings.
func nameTable(t *testing.T) string {
	by := map[string][]string{}
	for _, e := range literal(t, parsed(t, "internal/logformat"), "baseNames").Elts {
		kv := e.(*ast.KeyValueExpr)
		by[text(kv.Value)] = append(by[text(kv.Value)], text(kv.Key))
	}
	s := head("Canonical name", "Spellings (lower case, every separator as `_`, without a train or eval word before or after)")
	for _, name := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[name])
		s += row(code(name), codes(by[name]))
	}
	return s
}

// words are the typed string constants of package report, by type.
func words(t *testing.T) (types []string, values map[string][]string) {
	values = map[string][]string{}
	for _, f := range parsed(t, "internal/report") {
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.CONST {
				continue
			}
			for _, s := range g.Specs {
				v := s.(*ast.ValueSpec)
				typ := text(v.Type)
				if typ == "" || !ast.IsExported(typ) {
					continue
				}
				if values[typ] == nil {
					types = append(types, typ)
				}
				values[typ] = append(values[typ], text(v.Values[0]))
			}
		}
	}
	slices.Sort(types)
	return types, values
}

// titles are what the types of package report are called in the documents.
var titles = map[string]string{
	"Class": "Class (`primary_cause`)", "RunStatus": "Run status (`run_status`)", "Severity": "Severity", "Risk": "Risk (`fixes[].risk`)",
	"Decision": "Decision (`decision`)", "Confidence": "Confidence in words (`confidence`)", "Role": "Role of a line of evidence",
	"AnomalyType": "Anomaly type", "ErrorKind": "Kind of error (`error.kind`)",
}

func vocabularyTable(t *testing.T) string {
	types, values := words(t)
	s := head("What", "Values")
	for _, typ := range types {
		title := titles[typ]
		if title == "" {
			title = typ
		}
		s += row(title, codes(values[typ]))
	}
	return s
}
