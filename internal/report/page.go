package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"sync"
)

//go:embed page.html
var pageText string

// pageForm is parsed when the first one is written: it takes longer than a short log.
var pageForm = sync.OnceValues(func() (*template.Template, error) { return template.New("page").Parse(pageText) })

// Drawing is a picture for a page: an SVG element, whose text is escaped, and the
// variables of its colours with their values on a light page.
type Drawing struct {
	SVG   string // "" for none
	Style [][2]string
}

// WritePage writes a diagnosis as one HTML page that needs nothing else: no
// network, no script. Everything that comes from a log is escaped.
func WritePage(w io.Writer, d *Diagnosis, pic Drawing) error {
	t, err := pageForm()
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	type line struct {
		N    int
		Text string
		Hit  bool
	}
	var lines []line
	for i, text := range d.FailureContext.Lines {
		n := d.FailureContext.FirstLine + i
		hit := len(d.EvidenceRefs) > 0 && d.EvidenceRefs[0].Line == n && d.EvidenceRefs[0].File == d.FailureContext.File
		lines = append(lines, line{n, text, hit})
	}
	type variable = [2]template.CSS
	var style []variable
	for _, v := range pic.Style {
		style = append(style, variable{template.CSS(v[0]), template.CSS(v[1])}) // ours, not a log's
	}
	err = t.Execute(w, struct {
		D       *Diagnosis
		Lines   []line
		Picture template.HTML
		Style   []variable
	}{d, lines, template.HTML(pic.SVG), style}) // plot escapes what comes from a log
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}
