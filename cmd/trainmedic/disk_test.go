package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/faulttest"
	"github.com/trainmedic/trainmedic/internal/report"
)

// outcome is what a command line left behind.
type outcome struct {
	code     int
	out, err string
}

// trainmedic runs the program as a user does, in a folder of its own.
func trainmedic(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	c := exec.Command("trainmedic", args...)
	var out, err bytes.Buffer
	c.Dir, c.Stdout, c.Stderr = t.TempDir(), &out, &err
	c.Env = append(os.Environ(), env...)
	failed := c.Run()
	if exit, ok := errors.AsType[*exec.ExitError](failed); failed != nil && !ok {
		t.Fatal(failed)
	} else if ok && exit.ExitCode() < 0 {
		t.Fatalf("it died: %v\n%s", failed, err.String())
	}
	return outcome{c.ProcessState.ExitCode(), out.String(), err.String()}
}

func example(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// artifact reads the file that a command says it wrote.
func artifact[T any](t *testing.T, o outcome, name string) (v T) {
	t.Helper()
	m := regexp.MustCompile(`(?m)^Artifact: (.*` + regexp.QuoteMeta(name) + `)$`).FindStringSubmatch(o.err)
	if m == nil {
		t.Fatalf("it does not say where %s is: %s", name, o.err)
	}
	b, err := os.ReadFile(m[1])
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestAFullDiskTakesNothingAway: the report is printed, the exit status is that
// of the decision, and the artifact is kept where there is room.
func TestAFullDiskTakesNothingAway(t *testing.T) {
	log := example(t, "testdata/logs/oom.log")
	for _, tc := range []struct {
		name string
		take func(t *testing.T, dir string)
		why  string
	}{
		{"full", func(t *testing.T, dir string) { faulttest.Fill(t, dir) }, "no space left on device"},
		{"read-only", func(t *testing.T, dir string) { faulttest.ReadOnly(t, dir) }, "read-only file system"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			disk, tmp := faulttest.SmallDisk(t, 64<<10), t.TempDir()
			tc.take(t, disk)
			env := []string{"TMPDIR=" + tmp}
			for command, name := range map[string]string{"check": report.CheckArtifact, "watch": report.WatchArtifact} {
				args := []string{command, log, "--out-dir", disk, "--run-id", "kept"}
				if command == "watch" {
					args = append(args, "--once")
				}
				o := trainmedic(t, env, args...)
				if o.code != 3 || !strings.Contains(o.out, "oom") || !strings.Contains(o.err, tc.why) || !strings.Contains(o.err, "not written to "+disk) {
					t.Errorf("%s: %+v", command, o)
				}
				got := artifact[struct {
					RunID string `json:"run_id"`
				}](t, o, name)
				if got.RunID != "kept" || !strings.Contains(o.err, "Artifact: "+tmp) {
					t.Errorf("%s: %+v: %s", command, got, o.err)
				}
			}
			left, _ := filepath.Glob(filepath.Join(disk, ".*"))
			if len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
			o := trainmedic(t, []string{"TMPDIR=" + disk}, "check", log, "--out-dir", disk)
			_, text, ok := strings.Cut(o.err, "Artifact:\n")
			if d := new(report.Diagnosis); o.code != 3 || !ok || json.NewDecoder(strings.NewReader(text)).Decode(d) != nil || d.PrimaryCause != report.OOM {
				t.Errorf("nowhere is room: %+v", o)
			}
		})
	}
}

// TestOutputThatBreaks: where standard output is full or closed, the file is
// written all the same.
func TestOutputThatBreaks(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no /dev/full: %v", err)
	}
	defer full.Close()
	read, gone, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	defer gone.Close()
	log := example(t, "testdata/logs/oom.log")
	for _, tc := range []struct {
		name string
		out  *os.File
		args []string
		file string // where the artifact lies
		says string
		code int
	}{
		{"check to a full disk", full, []string{"check", log}, report.CheckArtifact, "no space left on device", 3},
		{"check --json to a full disk", full, []string{"check", log, "--json"}, report.CheckArtifact, "no space left on device", 3},
		{"check | head", gone, []string{"check", log}, report.CheckArtifact, "Artifact: ", 3},
		{"watch | head", gone, []string{"watch", log, "--interval", "3600"}, report.WatchArtifact, "Artifact: ", 0},
		{"watch to a full disk", full, []string{"watch", log, "--once"}, report.WatchArtifact, "no space left on device", 3},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := exec.Command("trainmedic", tc.args...)
			var said bytes.Buffer
			c.Dir, c.Stdout, c.Stderr = t.TempDir(), tc.out, &said
			if err := c.Run(); c.ProcessState.ExitCode() != tc.code {
				t.Errorf("%v: %s", err, said.String())
			}
			if _, err := os.Stat(filepath.Join(c.Dir, tc.file)); err != nil || !strings.Contains(said.String(), tc.says) {
				t.Errorf("%v: %s", err, said.String())
			}
			if s := said.String(); strings.Contains(s, "broken pipe") || strings.Contains(s, "goroutine ") || tc.out == gone && strings.Count(s, "\n") > 1 {
				t.Errorf("it is said to nobody: %s", s)
			}
		})
	}
}
