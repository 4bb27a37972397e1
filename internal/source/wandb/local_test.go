package wandb

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/artifacts"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/wandblog"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

// project is a folder in which the client wrote two runs; log is the newer one's.
func project(t *testing.T) (dir, log string) {
	t.Helper()
	b, err := os.ReadFile("../artifacts/wandblog/testdata/0.31.0.wandb")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for _, name := range []string{"offline-run-20260101_120000-aaa", "run-20260102_120000-bbb"} {
		log = filepath.Join(dir, "wandb", name, "run-"+name[len(name)-3:]+".wandb")
		save(t, log, string(b))
		save(t, filepath.Join(dir, "wandb", name, "files", "output.log"), "hello from "+name+"\n")
	}
	if err := os.Symlink(filepath.Base(filepath.Dir(log)), filepath.Join(dir, "wandb", "latest-run")); err != nil {
		t.Fatal(err)
	}
	return dir, log
}

func openRef(t *testing.T, ref string, opt source.Options) source.Source {
	t.Helper()
	src, err := Kind(artifacts.Kind()).Open(t.Context(), ref, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { src.Close() })
	return src
}

func TestLocalRuns(t *testing.T) {
	dir, log := project(t)
	alone := filepath.Join(t.TempDir(), "sent.wandb")
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	save(t, alone, string(b))
	t.Chdir(dir)
	for ref, want := range map[string]string{
		dir: "bbb", ".": "bbb", "wandb": "bbb", "wandb/latest-run": "bbb", log: "bbb", "aaa": "aaa", "bbb": "bbb", "wandb/offline-run-20260101_120000-aaa": "aaa", alone: "step 1/60",
	} {
		t.Run(filepath.Base(ref), func(t *testing.T) {
			obs, err := openRef(t, ref, source.Options{}).Observe(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if len(obs.Streams) == 0 || !strings.Contains(sourcetest.Text(t, obs.Streams[0]), want) || len(obs.Samples) != 180 {
				t.Errorf("%d samples, streams %+v", len(obs.Samples), obs.Streams)
			}
			sourcetest.Run(t, func(t *testing.T) source.Source { return openRef(t, ref, source.Options{}) })
		})
	}
}

func TestWhatIsNoRun(t *testing.T) {
	empty := t.TempDir()
	text := filepath.Join(t.TempDir(), "x.wandb")
	save(t, text, "no log at all")
	for ref, want := range map[string]error{
		empty: source.ErrNotFound, filepath.Join(empty, "wandb", "latest-run"): source.ErrNotFound, "./run-x.wandb": source.ErrNotFound, "": source.ErrBadTarget,
		"run-20260102_120000-bbb": source.ErrNotFound,
	} {
		if _, err := Kind(artifacts.Kind()).Open(t.Context(), ref, source.Options{}); !errors.Is(err, want) {
			t.Errorf("%q: %v", ref, err)
		}
	}
	if _, err := openRef(t, text, source.Options{}).Observe(t.Context(), nil); !errors.Is(err, source.ErrNoEvidence) {
		t.Errorf("a file that is no log: %v", err)
	}
}

func TestAWatchWaitsForItsRun(t *testing.T) {
	dir := t.TempDir()
	for _, ref := range []string{dir, filepath.Join(dir, "wandb", "latest-run")} {
		src := openRef(t, ref, source.Options{Watch: true})
		obs, err := src.Observe(t.Context(), nil)
		if err != nil || len(obs.Gaps) != 1 || obs.Gaps[0].Why != "is not there yet" {
			t.Fatalf("%v, gaps %v", err, obs.Gaps)
		}
		from, _ := project(t)
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(from, dir); err != nil {
			t.Fatal(err)
		}
		obs, err = src.Observe(t.Context(), obs.Next)
		if err != nil || len(obs.Samples) == 0 {
			t.Fatalf("%v, %d samples", err, len(obs.Samples))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// A run without an exit record whose process is missing on its own machine was
// killed; of a run of another machine nobody here can tell.
func TestAKilledRunIsMissed(t *testing.T) {
	here, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		host string
		pid  int
		gone bool
	}{"here": {here, 1 << 30, true}, "another machine": {here + "-2", 1 << 30, false}, "a process with its PID": {here, os.Getpid(), false}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			save(t, filepath.Join(dir, "logs", "debug.log"), fmt.Sprintf("INFO [wandb_setup.py:_flush():81] Configure stats pid to %d\n", c.pid))
			f := &folder{path: dir}
			obs := run.Observation{Next: run.Cursor{}, Facts: []run.Fact{{Key: "tracker.host", Value: c.host}}, Gaps: []run.Gap{{What: wandblog.HowItEnded}}}
			f.gone(&obs, nil)
			if n := len(obs.Facts); (n == 3) != c.gone || (len(obs.Gaps) == 0) != c.gone {
				t.Errorf("facts %v, gaps %v", obs.Facts, obs.Gaps)
			}
			again := run.Observation{Next: run.Cursor{}}
			if f.gone(&again, obs.Next); len(again.Facts) > 0 {
				t.Errorf("it is told again: %v", again.Facts)
			}
		})
	}
}

// The exit record of a run that is watched is how it ends: no document that may
// speak of another attempt.
func TestTheExitRecordEndsAWatch(t *testing.T) {
	dir, _ := project(t)
	for _, watch := range []bool{true, false} {
		obs, err := openRef(t, dir, source.Options{Watch: watch}).Observe(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range obs.Facts {
			if f.Key == run.FactExitCode {
				found = true
				if f.Value != "1" || (f.From.File == "") != watch {
					t.Errorf("watch %v: %+v", watch, f)
				}
			}
		}
		if !found {
			t.Errorf("watch %v: no exit code", watch)
		}
	}
}
