package artifacts

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/export"
	"github.com/trainmedic/trainmedic/internal/source/file"
	"github.com/trainmedic/trainmedic/internal/tail"
)

// putBinary passes over what is no text, but for the labels in it if they were
// asked for, and remembers archives: the run may lie in one.
func putBinary(l *look, e entry, head string) bool {
	switch ext := strings.ToLower(path.Ext(e.name)); {
	case l.opt.LabelColumn != "" && (ext == ".parquet" || strings.HasPrefix(head, "PAR1")):
		l.parquetLabels(e)
	case l.opt.LabelColumn != "" && ext == ".arrow":
		l.gap(e.name, "arrow files are not read", smallerSample)
	case file.Archive(e.name, []byte(head)) != "":
		l.archives = append(l.archives, e.name)
	}
	return true
}

var opensJSON = regexp.MustCompile(`^(?:\{|\[\s*\{)`)

// putText takes all other text: logs, and the output of commands.
func putText(l *look, e entry, head string) bool {
	if tail.IsBinary([]byte(head)) {
		if export.IsLogName(e.name) {
			l.obs.Gaps = append(l.obs.Gaps, *file.Opaque(e.name, []byte(head)))
		}
		return true
	}
	if trim := strings.TrimSpace(head); path.Ext(e.name) != ".log" && opensJSON.MatchString(trim) && logEntry.MatchString(head) {
		l.entriesOf(e)
		return true
	}
	kind := export.Sniff(e.name, head, e.size)
	if (kind == "log" || kind == "other") && !export.IsLogName(e.name) && l.session(e, head) {
		return true
	}
	l.stream(e, kind)
	if kind == "log" || !l.fresh(e) {
		return true
	}
	if text, ok := l.text(e, maxResource); ok {
		l.found(export.Command(kind, export.NewText(e.name, text)))
	}
	return true
}

// session takes what a person saved of a terminal: commands and what they printed.
// It reports false for any other text.
func (l *look) session(e entry, head string) bool {
	if e.size > maxResource || !strings.ContainsAny(head, "$#") || export.Transcript(e.name, head) == nil {
		return false
	}
	if !l.fresh(e) {
		return true
	}
	text, ok := l.text(e, maxResource)
	if !ok {
		return true
	}
	for _, s := range export.Transcript(e.name, text) {
		var b lines
		for i := s.First; i <= s.Last; i++ {
			b.add(s.Text.Ref(i), "", s.Text.Lines[i-1])
		}
		v := b.stream(e, run.NoRank)
		v.Kind = s.Kind
		l.exports = append(l.exports, v)
		l.found(export.Command(s.Kind, s.Text))
	}
	return true
}

// putCSV takes metrics that Lightning and Keras write, what nvidia-smi writes,
// and rows of data.
func putCSV(l *look, e entry, head string) bool {
	header, _, _ := strings.Cut(head, "\n")
	low := strings.ToLower(header)
	switch {
	case strings.Contains(low, "memory.used"), strings.Contains(low, "memory.total"), export.GPURows(head):
		return putText(l, e, head)
	case l.opt.LabelColumn != "" && strings.Contains(header, l.opt.LabelColumn):
		l.csvLabels(e)
	case (strings.Contains(low, "step") || strings.Contains(low, "epoch") || strings.Contains(low, "iter")) && hasMetric(low):
		l.metricsCSV(e)
	}
	return true
}

func hasMetric(header string) bool {
	for _, w := range []string{"loss", "acc", "lr", "map", "metric", "f1", "auc", "error", "reward", "bleu"} {
		if strings.Contains(header, w) {
			return true
		}
	}
	return false
}

// Bounds of what one look takes out of a CSV file.
const (
	maxColumns = 2000
	maxValues  = 1 << 18
)

// metricsCSV reads a CSV logger's file. It is rewritten when a new metric
// appears, so the rows that are known are counted, not their bytes. Of very many
// rows the next look reads on.
func (l *look) metricsCSV(e entry) {
	if !l.fresh(e) {
		l.keepRows(e)
		return
	}
	seen, rows, stepAt := atoi(l.since["rows "+e.name]), 0, -1
	l.rows(e, maxSample, func(header, row []string, at run.Ref) bool {
		if rows == 0 {
			stepAt = column(header, "step", "global_step", "iteration", "iter", "trainer/global_step", "epoch")
			if len(header) > maxColumns {
				l.gap("some columns of "+e.name, fmt.Sprintf("it has more than %d", maxColumns), "a file of the columns that matter")
			}
		}
		if len(l.obs.Samples) >= maxValues {
			l.obs.More = true
			delete(l.obs.Next, "file "+e.name)
			return false
		}
		if rows++; rows > seen {
			l.metricsRow(header[:min(len(header), maxColumns)], row, stepAt, at)
		}
		return true
	})
	l.obs.Next["rows "+e.name] = itoa(max(rows, seen))
}

func (l *look) keepRows(e entry) {
	if n, ok := l.since["rows "+e.name]; ok {
		l.obs.Next["rows "+e.name] = n
	}
}

func (l *look) metricsRow(header, row []string, stepAt int, ref run.Ref) {
	step := int64(-1)
	if stepAt >= 0 && stepAt < len(row) {
		if f, ok := parse(row[stepAt]); ok {
			step = int64(f)
		}
	}
	for i, cell := range row {
		if i == stepAt || i >= len(header) || strings.TrimSpace(cell) == "" || strings.EqualFold(strings.TrimSpace(header[i]), "epoch") {
			continue
		}
		if f, ok := parse(cell); ok {
			l.obs.Samples = append(l.obs.Samples, run.Sample{Name: strings.TrimSpace(header[i]), Step: step, Value: f, Ref: ref})
		}
	}
}

// column is the index of the first of some names, -1 when none is there.
func column(header []string, names ...string) int {
	for _, n := range names {
		for i, h := range header {
			if strings.EqualFold(strings.TrimSpace(h), n) {
				return i
			}
		}
	}
	return -1
}
