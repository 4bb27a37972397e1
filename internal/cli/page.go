package cli

import (
	"bytes"
	"fmt"
	"os"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/page"
)

// writePage writes the page of a diagnosis, with the metrics drawn.
func writePage(path string, res *diagnose.Result) error {
	var b bytes.Buffer
	if err := page.Write(&b, res.Diagnosis, res.File.Series); err != nil {
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("--html: %w", err)
	}
	return nil
}
