package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// CheckArtifact is the name of the file that holds a Diagnosis.
const CheckArtifact = "check-failed-run.json"

// WriteJSON writes an artifact or an error envelope the way a person can read
// it: two spaces of indent, no HTML escapes, one newline at the end.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("report: write JSON: %w", err)
	}
	return nil
}

// WriteFile writes an artifact into dir, whole or not at all, and returns its path.
func WriteFile(dir, name string, v any) (string, error) {
	var b bytes.Buffer
	if err := WriteJSON(&b, v); err != nil {
		return "", err
	}
	tmp, err := os.CreateTemp(dir, "."+name+".*")
	if err != nil {
		return "", fmt.Errorf("report: write %s: %w", name, err)
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // gone already when all went well
	_, err = tmp.Write(b.Bytes())
	err = errors.Join(err, tmp.Chmod(0o644), tmp.Close())
	path := filepath.Join(dir, name)
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("report: write %s: %w", path, err)
	}
	return path, nil
}
