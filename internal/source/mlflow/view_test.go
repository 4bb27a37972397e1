package mlflow

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/trainmedic/trainmedic/internal/source"
)

// A database whose tables are views could make its reader compute for ever.
func TestAViewIsNoTable(t *testing.T) {
	for _, schema := range []string{
		`CREATE VIEW runs AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS run_uuid FROM n; CREATE TABLE metrics (key TEXT)`,
		`CREATE TABLE runs (run_uuid TEXT); CREATE TABLE metrics (key TEXT); CREATE VIEW params AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n`,
	} {
		path := filepath.Join(t.TempDir(), "mlflow.db")
		d, err := connectTo(path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(schema); err != nil {
			t.Fatal(err)
		}
		d.Close()
		if s, err := openDB(path, "mlflow.db"); !errors.Is(err, source.ErrBadTarget) {
			t.Errorf("want a bad target, got %v %v", s, err)
		}
	}
}
