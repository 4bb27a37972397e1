package report

import (
	"errors"
	"fmt"
	"os"
)

// Keep writes an artifact into dir. Where that fails (the disk is full, nobody
// may write there) the artifact lies in a new folder of the temporary directory
// instead, and the error says why: path is where it lies in any case, and ""
// only where it could be written nowhere.
func Keep(dir, name string, v any) (path string, err error) {
	if path, err = WriteFile(dir, name, v); err == nil {
		return path, nil
	}
	elsewhere, second := os.MkdirTemp("", "trainmedic-")
	if second == nil {
		if path, second = WriteFile(elsewhere, name, v); second != nil {
			os.Remove(elsewhere) //nolint:errcheck // it is empty, and no harm
		}
	}
	if second != nil {
		return "", errors.Join(err, fmt.Errorf("report: nor anywhere else: %w", second))
	}
	return path, err
}
