// Package page makes what a browser shows: the report of a diagnosis as a page of
// its own, the same as an app inside a chat, and the live page of all watches. The
// pages ask nobody but their own server, and everything that comes from a log is
// escaped.
package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"sync"

	"github.com/trainmedic/trainmedic/internal/plot"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

//go:embed *.html *.css *.js
var files embed.FS

// forms are parsed when the first page is written: it takes longer than a short log.
var forms = sync.OnceValues(func() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{"grave": grave}).ParseFS(files, "*.html")
})

// Write writes a diagnosis as one HTML document without a script; series finds a
// metric by its name, for the picture.
func Write(w io.Writer, d *report.Diagnosis, series func(name string) *run.Series) error {
	return write(w, "page.html", d, series)
}

// Report is what stands in the document that Write writes, for the app.
func Report(d *report.Diagnosis, series func(name string) *run.Series) (string, error) {
	var b bytes.Buffer
	err := write(&b, "report.html", d, series)
	return b.String(), err
}

// line is a line of the context of the proof.
type line struct {
	N    int
	Text string
	Hit  bool
}

func write(w io.Writer, form string, d *report.Diagnosis, series func(name string) *run.Series) error {
	t, err := forms()
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	var lines []line
	for i, text := range d.FailureContext.Lines {
		n := d.FailureContext.FirstLine + i
		hit := len(d.EvidenceRefs) > 0 && d.EvidenceRefs[0].Line == n && d.EvidenceRefs[0].File == d.FailureContext.File
		lines = append(lines, line{n, text, hit})
	}
	var svg bytes.Buffer
	if p := plot.Usual(d, series); len(p.Panels) > 0 {
		p.Title = "" // it stands above already
		if err := p.SVG(&svg); err != nil {
			return fmt.Errorf("page: %w", err)
		}
	}
	err = t.ExecuteTemplate(w, form, struct {
		D       *report.Diagnosis
		Lines   []line
		Picture template.HTML
		Style   template.CSS
	}{d, lines, template.HTML(svg.String()), style()}) // plot escapes what comes from a log
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}

// style is that of all pages.
func style() template.CSS {
	b, _ := files.ReadFile("style.css") // it is embedded
	return template.CSS(string(b) + plot.Style())
}
