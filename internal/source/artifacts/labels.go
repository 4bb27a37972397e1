package artifacts

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/parquet"
)

// maxRows is how many rows of a data sample are looked at.
const maxRows = 200_000

// labelColumn is what one sample shows of the label column.
type labelColumn struct {
	file             string
	rows, missing    int
	numeric          bool
	min, max         float64
	minRef, maxRef   run.Ref
	minRow, maxRow   int
	missRef, headRef run.Ref
	values           map[string]int
	equal            map[string]int // features, and in how many rows they equal the label
}

func newLabels(name string, head run.Ref) *labelColumn {
	return &labelColumn{file: name, numeric: true, headRef: head, values: map[string]int{}, equal: map[string]int{}}
}

func (c *labelColumn) add(label string, ref run.Ref, features func(yield func(name, value string))) {
	c.rows++
	label = strings.TrimSpace(label)
	switch strings.ToLower(label) {
	case "", "null", "nan", "none", "na", "n/a":
		if c.missing++; c.missing == 1 {
			c.missRef = ref
		}
		return
	}
	if len(c.values) < 100_000 || c.values[label] > 0 {
		c.values[strings.Clone(label)]++ // the row's text is not kept with it
	}
	v, ok := parse(label)
	c.numeric = c.numeric && ok
	if ok && (c.minRef.File == "" || v < c.min) {
		c.min, c.minRef, c.minRow = v, ref, c.rows
	}
	if ok && (c.maxRef.File == "" || v > c.max) {
		c.max, c.maxRef, c.maxRow = v, ref, c.rows
	}
	features(func(name, value string) {
		if strings.TrimSpace(value) == label {
			c.equal[name]++
		}
	})
}

// csvLabels reads the label column of a CSV sample.
func (l *look) csvLabels(e entry) {
	if !l.fresh(e) {
		return
	}
	var c *labelColumn
	at := -1
	l.rows(e, maxSample, func(header, row []string, ref run.Ref) bool {
		if c == nil {
			c, at = newLabels(e.name, run.Ref{File: e.name, Line: 1}), column(header, l.opt.LabelColumn)
		}
		if at < 0 || at >= len(row) {
			return at >= 0
		}
		c.add(row[at], ref, func(yield func(string, string)) {
			for i, cell := range row[:min(len(row), len(header), maxColumns)] {
				if i != at {
					yield(header[i], cell)
				}
			}
		})
		return c.rows < maxRows
	})
	if at >= 0 {
		l.labels = append(l.labels, *c)
	}
}

// labelLines reads the label column of a JSONL sample.
func (l *look) labelLines(e entry) {
	if !l.fresh(e) {
		return
	}
	text, ok := l.text(e, maxSample)
	if !ok {
		return
	}
	c, offset := newLabels(e.name, run.Ref{File: e.name, Line: 1}), int64(0)
	line := 0
	for raw := range strings.Lines(text) {
		line++
		if n, err := doc.JSON([]byte(raw)); err == nil && n.Kind == doc.Map {
			c.row(n, l.opt.LabelColumn, func(int) run.Ref { return run.Ref{File: e.name, Line: line, Offset: offset} })
		}
		if offset += int64(len(raw)); c.rows >= maxRows {
			break
		}
	}
	l.labels = append(l.labels, *c)
}

// Bounds of what is read of a Parquet sample.
const (
	maxParquetRows = 10_000
	maxFeatures    = 500
	smallerSample  = "a sample of the same rows as CSV or JSONL (a few thousand suffice)"
)

// parquetLabels reads the label column of a Parquet sample, and of each other
// column whether it equals it. One column at a time is in memory.
func (l *look) parquetLabels(e entry) {
	if !l.fresh(e) {
		return
	}
	f, err := l.open(e.name)()
	if err != nil {
		l.unreadable(e.name, err)
		return
	}
	defer f.Close()
	p, err := parquet.Open(f, e.size)
	if err != nil {
		l.gap(e.name, err.Error(), smallerSample)
		return
	}
	i := slices.IndexFunc(p.Columns, func(c *parquet.Column) bool { return strings.EqualFold(c.Name, l.opt.LabelColumn) })
	if i < 0 {
		return
	}
	labels, err := p.Columns[i].Read(maxParquetRows)
	if err != nil {
		l.gap(e.name, err.Error(), smallerSample)
	}
	if len(labels) == 0 {
		return
	}
	ref := run.Ref{File: e.name}
	c := newLabels(e.name, ref)
	for _, v := range labels {
		c.add(v, ref, func(func(string, string)) {})
	}
	for _, feature := range p.Columns[:min(len(p.Columns), maxFeatures)] {
		values, err := feature.Read(len(labels)) // a column that cannot be read is no suspect
		if feature == p.Columns[i] || err != nil || len(values) < len(labels) {
			continue
		}
		c.equal[feature.Name] = equalRows(values, labels)
	}
	l.labels = append(l.labels, *c)
}

// equalRows counts the rows with a label in which two columns say the same.
func equalRows(values, labels []string) (n int) {
	for i, v := range labels {
		if v = strings.TrimSpace(v); v != "" && strings.TrimSpace(values[i]) == v {
			n++
		}
	}
	return n
}

// hasLabel reports whether a JSON document is a list of rows with the label.
func (l *look) hasLabel(n *doc.Node) bool {
	return l.opt.LabelColumn != "" && len(n.List()) > 0 && n.Items[0].Get(l.opt.LabelColumn) != nil
}

func (l *look) jsonLabels(t *export.Text, rows []*doc.Node) {
	c := newLabels(t.Name, t.Ref(1))
	for _, row := range rows {
		c.row(row, l.opt.LabelColumn, t.Ref)
	}
	l.labels = append(l.labels, *c)
}

// row takes a row of JSON; ref points at a line of it.
func (c *labelColumn) row(row *doc.Node, label string, ref func(line int) run.Ref) {
	v := row.Get(label)
	at := ref(row.Line)
	if v != nil {
		at = ref(v.Line)
	}
	c.add(v.Str(), at, func(yield func(string, string)) {
		for _, f := range row.Members() {
			if f.Key != label {
				yield(f.Key, f.Str())
			}
		}
	})
}

// noteClasses remembers how many classes a configuration gives the model.
func (l *look) noteClasses(key, value string) {
	for _, name := range []string{"num_labels", "num_classes", "nc", "n_classes", "nclasses"} {
		if n, err := strconv.Atoi(value); err == nil && n > 0 && (key == "config."+name || strings.HasSuffix(key, "."+name)) {
			l.classes[key] = n
		}
	}
}

// labelGaps turns the label columns into facts; labels.COLUMN.problem says in
// words what is wrong with one.
func (l *look) labelGaps() {
	col := l.opt.LabelColumn
	if col == "" {
		return
	}
	if len(l.labels) == 0 && l.since == nil {
		l.gap("the label column "+col, "no CSV, JSONL or Parquet sample here has it", "a few hundred rows of the training data as CSV or JSONL")
	}
	for i := range l.labels {
		c := &l.labels[i]
		key := "labels." + col
		if c.numeric && len(c.values) > 0 {
			l.fact(key+".min", strconv.FormatFloat(c.min, 'g', -1, 64), c.minRef)
			l.fact(key+".max", strconv.FormatFloat(c.max, 'g', -1, 64), c.maxRef)
		}
		l.fact(key+".missing", strconv.Itoa(c.missing), c.headRef)
		l.fact(key+".classes", strconv.Itoa(len(c.values)), c.headRef)
		for _, p := range c.problems(l.classes) {
			l.fact(key+".problem", col+" in "+c.file+": "+p.Value, p.From)
		}
	}
}

func (c *labelColumn) problems(classes map[string]int) (out []run.Fact) {
	say := func(ref run.Ref, format string, args ...any) {
		out = append(out, run.Fact{Value: fmt.Sprintf(format, args...), From: ref})
	}
	if c.missing > 0 {
		say(c.missRef, "%d of %d rows have no label", c.missing, c.rows)
	}
	if len(c.values) == 1 && c.rows > 1 {
		say(c.headRef, "all %d labels are the same", c.rows-c.missing)
	}
	if c.numeric && c.max == math.Trunc(c.max) && len(c.values) > 0 {
		for _, key := range slices.Sorted(maps.Keys(classes)) {
			n := classes[key]
			if c.max >= float64(n) {
				say(c.maxRef, "label %g%s is out of range: %s is %d, so labels are 0 to %d", c.max, inRow(c.maxRef, c.maxRow), key, n, n-1)
			}
		}
		if c.min < 0 && c.min != -100 && len(classes) > 0 {
			say(c.minRef, "label %g%s is negative", c.min, inRow(c.minRef, c.minRow))
		}
	}
	if have := c.rows - c.missing; have > 10 && len(c.values) > 1 {
		for _, name := range slices.Sorted(maps.Keys(c.equal)) {
			if c.equal[name] == have {
				say(c.headRef, "feature %s equals the label in every row", name)
			}
		}
	}
	return out
}

// inRow names the row where a file has no lines to point at.
func inRow(ref run.Ref, row int) string {
	if ref.Line > 0 {
		return ""
	}
	return " in row " + itoa(row)
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

func itoa(n int) string { return strconv.Itoa(n) }
