package monitor_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/faulttest"
	"github.com/trainmedic/trainmedic/internal/report"
)

// kinds of the events of a watch, in order; stalls, which depend on the clock, left out.
func kindsOf(events []report.Event) (out []string) {
	for _, e := range events {
		if e.Anomaly == nil || e.Anomaly.Type != report.AnomalyStalled {
			out = append(out, string(e.Kind))
		}
	}
	return out
}

// TestAFullDiskSilencesNobody: while the state's disk is full events are told
// from memory, and the line of a look says so. When there is room again the next
// server knows all of them.
func TestAFullDiskSilencesNobody(t *testing.T) {
	state, log := faulttest.SmallDisk(t, 256<<10), filepath.Join(t.TempDir(), "train.log")
	appendTo(t, log, steps(1, 20, "2.5"))
	d := desk(t, state)
	id, err := d.Start(often(log))
	if err != nil {
		t.Fatal(err)
	}
	wait(t, d, id, 0, true, 10*time.Second)
	appendTo(t, log, steps(21, 30, "nan"))
	first := wait(t, d, id, 0, false, 10*time.Second)
	if len(first.Events) != 1 || strings.Contains(first.Line, "not on disk") {
		t.Fatalf("with room: %+v", first)
	}

	free := faulttest.Fill(t, state)
	appendTo(t, log, steps(31, 60, "1.9"))
	second := wait(t, d, id, first.Cursor, false, 10*time.Second)
	if len(second.Events) != 1 || second.Events[0].Kind != report.EventClosed || !strings.Contains(second.Line, "not on disk: no space left on device") {
		t.Fatalf("on a full disk: %+v", second)
	}
	appendTo(t, log, steps(61, 70, "nan"))
	third := wait(t, d, id, second.Cursor, false, 10*time.Second)
	if len(third.Events) != 1 || third.Events[0].Kind != report.EventOpened {
		t.Fatalf("still full: %+v", third)
	}

	free()
	appendTo(t, log, steps(71, 100, "1.9"))
	fourth := wait(t, d, id, third.Cursor, false, 10*time.Second)
	if len(fourth.Events) != 1 || strings.Contains(fourth.Line, "not on disk") {
		t.Fatalf("with room again: %+v", fourth)
	}
	d.Close()
	d = desk(t, state)
	if err := d.Resume(); err != nil {
		t.Fatal(err)
	}
	all := wait(t, d, id, 0, false, 10*time.Second)
	if got := kindsOf(all.Events); fmt.Sprint(got) != "[anomaly-opened anomaly-closed anomaly-opened anomaly-closed]" || all.Cursor != fourth.Cursor {
		t.Errorf("the next server knows %q, cursor %d; told were up to %d", got, all.Cursor, fourth.Cursor)
	}
}

// TestAClientThatKnowsMoreThanTheDisk: a server died while its disk was full. Its
// client is told what came since.
func TestAClientThatKnowsMoreThanTheDisk(t *testing.T) {
	state, log := t.TempDir(), filepath.Join(t.TempDir(), "train.log")
	appendTo(t, log, steps(1, 20, "nan"))
	d := desk(t, state)
	id, err := d.Start(often(log))
	if err != nil {
		t.Fatal(err)
	}
	st := wait(t, d, id, 7, true, 10*time.Second)
	if len(st.Events) != 1 || st.Cursor != 1 {
		t.Errorf("%+v", st)
	}
}

// TestAWatchWithoutAPlace: where nothing can be kept a watch goes on in memory,
// to its end, and says what it lacks.
func TestAWatchWithoutAPlace(t *testing.T) {
	for _, tc := range []struct {
		name  string
		state func(t *testing.T) string
		why   string
	}{
		{"a full disk", func(t *testing.T) string {
			dir := faulttest.SmallDisk(t, 64<<10)
			faulttest.Fill(t, dir)
			return dir
		}, "no space left on device"},
		{"a read-only disk", func(t *testing.T) string {
			dir := faulttest.SmallDisk(t, 64<<10)
			faulttest.ReadOnly(t, dir)
			return dir
		}, "read-only file system"},
		{"a file in its place", func(t *testing.T) string {
			path := filepath.Join(t.TempDir(), "watches")
			appendTo(t, path, "not a folder")
			return path
		}, "not a directory"},
		{"no home", func(*testing.T) string { return "" }, "set XDG_STATE_HOME"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			log, out := filepath.Join(t.TempDir(), "train.log"), t.TempDir()
			appendTo(t, log, steps(1, 20, "2.5"))
			d := desk(t, tc.state(t))
			r := often(log)
			r.OutDir = out
			id, err := d.Start(r)
			if err != nil {
				t.Fatal(err)
			}
			if st := wait(t, d, id, 0, true, 10*time.Second); !strings.Contains(st.Line, tc.why) || !strings.Contains(st.Line, "Step 20/1000") {
				t.Errorf("the first look: %q", st.Line)
			}
			appendTo(t, log, steps(21, 30, "nan"))
			if st := wait(t, d, id, 0, false, 10*time.Second); len(st.Events) != 1 {
				t.Errorf("%+v", st)
			}
			st, err := d.Stop(id, 1, "a client asked for it")
			if err != nil || st.Artifact == nil || len(st.Artifact.Findings) != 2 || !strings.Contains(st.Artifact.Findings[1].Description, tc.why) {
				t.Fatalf("%+v, %v", st.Artifact, err)
			}
			if _, err := os.Stat(filepath.Join(out, report.WatchArtifact)); err != nil {
				t.Error(err)
			}
			if again := wait(t, d, id, 0, false, time.Second); len(again.Events) != 2 {
				t.Errorf("asked again: %+v", again)
			}
		})
	}
}

// TestTheArtifactIsKeptWhereThereIsRoom: both places are full.
func TestTheArtifactIsKeptWhereThereIsRoom(t *testing.T) {
	disk, log := faulttest.SmallDisk(t, 128<<10), filepath.Join(t.TempDir(), "train.log")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	appendTo(t, log, steps(1, 20, "2.5"))
	out := filepath.Join(disk, "out")
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	d := desk(t, filepath.Join(disk, "state"))
	r := often(log)
	r.OutDir = out
	id, err := d.Start(r)
	if err != nil {
		t.Fatal(err)
	}
	wait(t, d, id, 0, true, 10*time.Second)
	faulttest.Fill(t, disk)
	st, err := d.Stop(id, 0, "a client asked for it")
	if err != nil || st.Artifact == nil {
		t.Fatalf("%+v, %v", st, err)
	}
	kept, _ := filepath.Glob(filepath.Join(tmp, "*", report.WatchArtifact))
	if len(kept) != 1 || !strings.Contains(st.Line, kept[0]) {
		t.Fatalf("kept: %q, told: %q", kept, st.Line)
	}
	var got report.WatchReport
	b, err := os.ReadFile(kept[0])
	if err == nil {
		err = json.Unmarshal(b, &got)
	}
	if err != nil || got.RunID != st.Artifact.RunID {
		t.Errorf("%v: %+v", err, got)
	}
}

// TestNobodyElseReadsTheState: folders are 0700 and files 0600, whatever the
// folder above them allows.
func TestNobodyElseReadsTheState(t *testing.T) {
	state, log := filepath.Join(t.TempDir(), "deep", "state"), filepath.Join(t.TempDir(), "train.log")
	appendTo(t, log, steps(1, 20, "nan"))
	d := desk(t, state)
	id, err := d.Start(often(log))
	if err != nil {
		t.Fatal(err)
	}
	wait(t, d, id, 0, true, 10*time.Second)
	if err := os.Chmod(filepath.Join(state, id), 0o777); err != nil {
		t.Fatal(err)
	}
	d.Close()
	d = desk(t, state)
	if err := d.Resume(); err != nil {
		t.Fatal(err)
	}
	wait(t, d, id, 0, false, 10*time.Second)
	if err := filepath.WalkDir(state, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := e.Info()
		if err == nil && st.Mode().Perm()&0o022 != 0 || err == nil && !e.IsDir() && st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v", path, st.Mode())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
