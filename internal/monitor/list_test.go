package monitor_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/report"
)

// TestAllWatchesAtAGlance: those of this desk and those that an earlier server
// left; who needs somebody stands first.
func TestAllWatchesAtAGlance(t *testing.T) {
	logs, dir := t.TempDir(), t.TempDir()
	earlier := desk(t, dir)
	appendTo(t, filepath.Join(logs, "old.log"), steps(1, 20, "2.5"))
	old, err := earlier.Start(often(filepath.Join(logs, "old.log")))
	if err != nil {
		t.Fatal(err)
	}
	wait(t, earlier, old, 0, true, 10*time.Second)
	if _, err := earlier.Stop(old, 0, "a client asked for it"); err != nil {
		t.Fatal(err)
	}
	earlier.Close()

	d := desk(t, dir)
	secret := "hf_" + strings.Repeat("Ab1", 12)
	for name, text := range map[string]string{"quiet.log": steps(1, 20, "2.5"), "bad-" + secret + ".log": steps(1, 20, "2.5") + steps(21, 30, "nan")} {
		appendTo(t, filepath.Join(logs, name), text)
		id, err := d.Start(often(filepath.Join(logs, name)))
		if err != nil {
			t.Fatal(err)
		}
		wait(t, d, id, 0, true, 10*time.Second)
	}

	got := d.List()
	if len(got) != 3 {
		t.Fatalf("%d watches: %+v", len(got), got)
	}
	if bad := got[0]; len(bad.Live.Open) == 0 || bad.Live.Step != 30 || len(bad.Live.Loss) == 0 || len(bad.Events) != 1 || strings.Contains(bad.Target, secret) {
		t.Errorf("the first is the one that needs somebody: %+v", bad)
	}
	if quiet := got[1]; quiet.State != report.StateRunning || quiet.Resting || !strings.Contains(quiet.Line, "loss=2.5") {
		t.Errorf("the second goes on: %+v", quiet)
	}
	if ended := got[2]; ended.ID != old || ended.Decision != report.Go || ended.Reason != "a client asked for it" || ended.Resting {
		t.Errorf("the last has ended before this server began: %+v", ended)
	}
}
