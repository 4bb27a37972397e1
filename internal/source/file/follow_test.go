package file_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

var watch = source.Options{Watch: true}

func TestGrows(t *testing.T) {
	t.Run("one log", func(t *testing.T) {
		sourcetest.Grows(t, "run.log", func(t *testing.T, dir string) source.Source { return open(t, filepath.Join(dir, "run.log"), watch) })
	})
	t.Run("glob", func(t *testing.T) {
		sourcetest.Grows(t, "rank3.log", func(t *testing.T, dir string) source.Source { return open(t, filepath.Join(dir, "*.log*"), watch) })
	})
}

// told is what a look says, in short.
func told(t *testing.T, obs run.Observation) string {
	t.Helper()
	var out []string
	for _, f := range obs.Facts {
		if f.Key != run.FactLog {
			continue // of the host
		}
		out = append(out, f.From.File+" "+f.Value)
	}
	for _, st := range obs.Streams {
		out = append(out, st.Name+": "+sourcetest.Text(t, st))
	}
	for _, g := range obs.Gaps {
		out = append(out, "gap "+g.What)
	}
	return strings.Join(out, "; ")
}

const long = "step 1 loss 2.5\nstep 2 loss 2.4\nstep 3 loss 2.3\nstep 4 loss 2.2\nstep 5 loss 2.1\n"

func TestWhatBecomesOfALog(t *testing.T) {
	move := func(t *testing.T, from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		change func(t *testing.T, log string)
		want   []string // of the looks after it
	}{
		"stands still": {func(*testing.T, string) {}, []string{"", ""}},
		"rotated and written on": {func(t *testing.T, log string) {
			write(t, log, long+"old\n")
			move(t, log, log+".1")
			write(t, log, "new\n")
		}, []string{"run.log rotated; run.log: old\n; run.log: new\n", ""}},
		"rotated under a writer that goes on in the old file": {func(t *testing.T, log string) {
			move(t, log, log+".1")
			write(t, log, "")
			write(t, log+".1", long+"old\n")
		}, []string{"run.log rotated; run.log: old\n", ""}},
		"rotated twice": {func(t *testing.T, log string) {
			write(t, log, long+"old\n")
			move(t, log, log+".2")
			write(t, log+".1", "between\n")
			write(t, log, "new\n")
		}, []string{"run.log rotated; run.log: old\n; run.log: between\n; run.log: new\n", ""}},
		"replaced": {func(t *testing.T, log string) {
			write(t, log+".new", strings.Repeat("other\n", 30))
			move(t, log+".new", log)
		}, []string{"run.log replaced; run.log: " + strings.Repeat("other\n", 30) + "; gap the end of run.log as it was before", ""}},
		"copied in place by rsync": {func(t *testing.T, log string) {
			write(t, log+".tmp", long+"more\n")
			move(t, log+".tmp", log)
		}, []string{"run.log: more\n", ""}},
		"copied and truncated": {func(t *testing.T, log string) {
			write(t, log+"-20260714", long+"old\n")
			write(t, log, "new\n")
		}, []string{"run.log truncated; run.log: old\n; run.log: new\n", ""}},
		"truncated": {
			func(t *testing.T, log string) { write(t, log, "new\n") },
			[]string{"run.log truncated; run.log: new\n; gap the end of run.log as it was before", ""},
		},
		"written anew beyond its old size": {
			func(t *testing.T, log string) { write(t, log, strings.Repeat("again\n", 40)) },
			[]string{"run.log truncated; run.log: " + strings.Repeat("again\n", 40) + "; gap the end of run.log as it was before", ""},
		},
		"truncated under a writer that keeps its place": {func(t *testing.T, log string) {
			write(t, log, strings.Repeat("\x00", len(long))+"on\n")
		}, []string{"run.log truncated; run.log: on\n", ""}},
		"deleted": {func(t *testing.T, log string) { os.Remove(log) }, []string{"run.log vanished", ""}},
		"renamed and written on": {func(t *testing.T, log string) {
			move(t, log, log+".old")
			write(t, log+".old", long+"old\n")
		}, []string{"run.log vanished; run.log: old\n", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, target := range []string{"run.log", "run*"} {
				log := write(t, filepath.Join(t.TempDir(), "run.log"), long)
				ref := filepath.Join(filepath.Dir(log), target)
				obs := look(t, open(t, ref, watch), nil)
				s := open(t, ref, watch)
				c.change(t, log)
				for i, want := range c.want {
					obs = look(t, s, obs.Next)
					if diff := cmp.Diff(want, told(t, obs)); diff != "" {
						t.Errorf("%s, look %d: %s", target, i+1, diff)
					}
				}
			}
		})
	}
}

func TestDeletedAndBack(t *testing.T) {
	log := write(t, filepath.Join(t.TempDir(), "run.log"), long)
	s := open(t, log, watch)
	obs := look(t, s, nil)
	os.Rename(log, log+".aside")
	obs = look(t, s, obs.Next)
	again := open(t, log, watch) // a server that starts while the log is away
	away := look(t, again, obs.Next)
	os.Rename(log+".aside", log)
	for name, s := range map[string]source.Source{"same source": s, "restarted": again} {
		if diff := cmp.Diff("run.log back", told(t, look(t, s, away.Next))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestALogThatAppearsLater(t *testing.T) {
	for name, c := range map[string]struct{ target, file string }{
		"file": {"run.log", "run.log"}, "glob": {"rank*.log", "rank0.log"}, "deep glob": {"logs/*.log", "logs/x.log"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := file.Kind(nil).Open(t.Context(), filepath.Join(dir, c.target), source.Options{}); !errors.Is(err, source.ErrNotFound) {
				t.Errorf("unwatched: %v", err)
			}
			s := open(t, filepath.Join(dir, c.target), watch)
			obs := look(t, s, nil)
			if len(obs.Gaps) != 1 {
				t.Errorf("want a gap, got %+v", obs)
			}
			obs = look(t, s, obs.Next)
			if got := told(t, obs); got != "" {
				t.Errorf("said again: %s", got)
			}
			write(t, filepath.Join(dir, c.file), "step 1\n")
			if got := told(t, look(t, s, obs.Next)); got != filepath.Base(c.file)+": step 1\n" {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestNewRanksAppear(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "rank0.log"), "a\n")
	s := open(t, filepath.Join(dir, "rank*.log"), watch)
	obs := look(t, s, nil)
	write(t, filepath.Join(dir, "rank1.log"), "b\n")
	obs = look(t, s, obs.Next)
	if diff := cmp.Diff("rank1.log: b\n", told(t, obs)); diff != "" {
		t.Error(diff)
	}
}

func TestALookIsBounded(t *testing.T) {
	log := write(t, filepath.Join(t.TempDir(), "run.log"), "")
	if err := os.Truncate(log, 0); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(log, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := strings.Repeat("x", 1<<20-1) + "\n"
	for range 300 {
		f.WriteString(line)
	}
	s := open(t, log, watch)
	obs := look(t, s, nil)
	if !obs.More || obs.Streams[0].Size != 256<<20 {
		t.Errorf("more %v, %d bytes", obs.More, obs.Streams[0].Size)
	}
	obs = look(t, s, obs.Next)
	if st := obs.Streams[0]; obs.More || st.Size != 44<<20 || st.FirstLine != 257 {
		t.Errorf("more %v, %d bytes from line %d", obs.More, st.Size, st.FirstLine)
	}
}

func TestAStreamIsTheFileThatWasSeen(t *testing.T) {
	log := write(t, filepath.Join(t.TempDir(), "run.log"), long)
	obs := look(t, open(t, log, watch), nil)
	os.Rename(log, log+".1")
	write(t, log, "another\n")
	if diff := cmp.Diff(long, sourcetest.Text(t, obs.Streams[0])); diff != "" {
		t.Error(diff)
	}
}

func TestCompressedLogsAreReadOnce(t *testing.T) {
	log := write(t, filepath.Join(t.TempDir(), "run.log.gz"), zipped("a\n"))
	s := open(t, log, watch)
	obs := look(t, s, nil)
	write(t, log, zipped("a\n")+zipped("b\n"))
	for i, want := range []string{"gap what was added to run.log.gz", ""} {
		obs = look(t, s, obs.Next)
		if diff := cmp.Diff(want, told(t, obs)); diff != "" {
			t.Errorf("look %d: %s", i, diff)
		}
	}
}
