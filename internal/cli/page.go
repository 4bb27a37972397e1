package cli

import (
	"bytes"
	"fmt"
	"os"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/plot"
	"github.com/trainmedic/trainmedic/internal/report"
)

// writePage writes the page of a diagnosis, with the metrics drawn.
func writePage(path string, res *diagnose.Result) error {
	pic := report.Drawing{Style: plot.Style()}
	if p := plot.Usual(res.Diagnosis, res.File.Series); len(p.Panels) > 0 {
		p.Title = "" // it stands above already
		var svg bytes.Buffer
		if err := p.SVG(&svg); err != nil {
			return err
		}
		pic.SVG = svg.String()
	}
	var b bytes.Buffer
	if err := report.WritePage(&b, res.Diagnosis, pic); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}
