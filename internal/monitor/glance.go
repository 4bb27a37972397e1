package monitor

import (
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
)

// glance is the state of a watch after its last look, as another process or the
// next one reads it. It may be lost: the journal is what counts.
type glance struct {
	Started    time.Time            `json:"started"`
	At         time.Time            `json:"at"`
	Polls      int                  `json:"polls"`
	State      report.TerminalState `json:"state"`
	StatusLine string               `json:"status_line"`
	Next       float64              `json:"next_poll_seconds"`
	Open       []report.Anomaly     `json:"open"`
	Asked      time.Time            `json:"asked"` // when a client last asked
	Memory     casefile.Memory      `json:"memory"`
}

const lookFile = "look.json"

func writeGlance(dir string, g *glance) error { return writeWhole(filepath.Join(dir, lookFile), g) }

// writeWhole writes a value as JSON, whole or not at all. It may be lost when the
// machine dies, not when the process does.
func writeWhole(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	tmp := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err = os.WriteFile(tmp, b, 0o600); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp) //nolint:errcheck // what is cut is not left where there is no room
	}
	return err
}

func readGlance(dir string) (g glance) {
	if b, err := os.ReadFile(filepath.Join(dir, lookFile)); err == nil && json.Unmarshal(b, &g) != nil {
		return glance{}
	}
	return g
}
