package slurm_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
	"github.com/trainmedic/trainmedic/internal/source/slurm"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

var update = flag.Bool("update", false, "write what the recordings give into testdata")

// login answers scontrol and sacct as a cluster's login node does; a text that
// begins with "exit 1" is what the program says on its standard error.
type login map[string]string

func (l login) Host() string { return "me@login" }

func (l login) Run(_ context.Context, argv ...string) ([]byte, error) {
	text, ok := l[argv[0]]
	if !ok {
		return nil, fmt.Errorf("shell: %s: %w", argv[0], shell.ErrNoProgram)
	}
	if argv[0] == "sacct" && strings.Contains(strings.Join(argv, " "), "StdOut") && !strings.Contains(text, "StdOut") && strings.HasPrefix(text, "JobID") {
		return nil, &shell.Failed{Program: "sacct", Status: 1, Stderr: `sacct: error: Invalid field requested: "StdOut"`}
	}
	if words, failed := strings.CutPrefix(text, "exit 1\n"); failed {
		return nil, &shell.Failed{Program: argv[0], Status: 1, Stderr: words}
	}
	return []byte(text), nil
}

// open opens a job of the cluster; the logs of its file system are here.
func (l login) open(t *testing.T, id string, opt source.Options) source.Source {
	t.Helper()
	logs := file.Kind(nil)
	k := slurm.Kind(logs, nil, source.Remote{
		Dial: func(context.Context, string) (shell.Shell, error) { return l, nil },
		Logs: &source.Kind{Open: func(ctx context.Context, ref string, opt source.Options) (source.Source, error) {
			_, path := source.Split(ref)
			return logs.Open(ctx, path, opt)
		}},
	})
	s, err := k.Open(t.Context(), "me@login:"+id, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestRecorded looks at recorded jobs, one look after another where a file has
// several ("scontrol", "scontrol.2" …), and holds what each look tells.
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			cluster, got, want := login{}, "", ""
			var src source.Source
			var since run.Cursor
			id, _, _ := strings.Cut(string(ar.Comment), ":")
			for _, f := range ar.Files {
				text := strings.ReplaceAll(string(f.Data), "/runs", dir)
				switch program, _, _ := strings.Cut(f.Name, "."); {
				case f.Name == "want":
					want = string(f.Data)
				case program == "look":
					if src == nil {
						src = cluster.open(t, id, source.Options{Watch: true})
					}
					obs, err := src.Observe(t.Context(), since)
					got += strings.ReplaceAll(told(t, obs, err), dir, "/runs")
					since = obs.Next
				case program == "scontrol" || program == "sacct":
					cluster[program] = text
				default:
					if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
			}
			if *update {
				for i := range ar.Files {
					if ar.Files[i].Name == "want" {
						ar.Files[i].Data = []byte(got)
					}
				}
				if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func told(t *testing.T, obs run.Observation, err error) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("look\n")
	if err != nil {
		fmt.Fprintf(&b, "  error: %v\n", err)
		return b.String()
	}
	if p := obs.Pipeline; p != nil {
		fmt.Fprintf(&b, "  %s is %s %s\n", p.Name, p.State, p.Error)
		for _, task := range p.Tasks {
			fmt.Fprintf(&b, "    %s is %s %s\n", task.Name, task.State, task.Error)
		}
	}
	for _, f := range obs.Facts {
		if f.Key == run.FactDeadline {
			f.Value = "some time"
		}
		if strings.HasPrefix(f.Key, "slurm.") || strings.HasPrefix(f.Key, "exit.") || strings.HasPrefix(f.Key, "job.") {
			fmt.Fprintf(&b, "  %s = %s (%s)\n", f.Key, f.Value, f.From)
		}
	}
	for _, s := range obs.Streams {
		fmt.Fprintf(&b, "  %s live=%v: %q\n", s.Name, s.Live, sourcetest.Text(t, s))
	}
	for _, g := range obs.Gaps {
		fmt.Fprintf(&b, "  gap %s: %s: %s\n", g.What, g.Why, g.Ask)
	}
	return b.String()
}

const running = `JobId=12 JobName=train
   JobState=RUNNING Reason=None Dependency=(null)
   RunTime=00:00:48 TimeLimit=00:01:00 TimeMin=N/A
   StartTime=2026-11-30T22:25:41 EndTime=2026-11-30T22:26:41 Deadline=N/A
   StdErr=%[1]s
   StdOut=%[1]s
`

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	log := filepath.Join(dir, "slurm-12.out")
	if err := os.WriteFile(log, []byte("step 1\nstep 2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cluster := login{"scontrol": fmt.Sprintf(running, log)}
	sourcetest.Run(t, func(t *testing.T) source.Source { return cluster.open(t, "12", source.Options{}) })
	t.Run("a job whose log is not there", func(t *testing.T) {
		cluster := login{"scontrol": fmt.Sprintf(running, "/no/such/log")}
		sourcetest.Run(t, func(t *testing.T) source.Source { return cluster.open(t, "12", source.Options{}) })
	})
}

func TestTheLogGrows(t *testing.T) {
	sourcetest.Grows(t, "run.log", func(t *testing.T, dir string) source.Source {
		return login{"scontrol": fmt.Sprintf(running, filepath.Join(dir, "run.log"))}.open(t, "12", source.Options{Watch: true})
	})
}

func TestRefusals(t *testing.T) {
	k := slurm.Kind(file.Kind(nil), nil, source.Remote{})
	for _, ref := range []string{"", "abc", "-1", "12;id", "$(id)", "12 13", "me@login:-x", "me@login:12", "--help", "12\n13", "99999999999999"} {
		if s, err := k.Open(t.Context(), ref, source.Options{}); err == nil {
			t.Errorf("%q was taken: %v", ref, s)
		}
	}
	for _, ref := range []string{"12", " 12 ", "12_3", "12.0", "12.batch", "12+1", "12_[0-3%2]"} {
		if _, err := k.Open(t.Context(), ref, source.Options{}); err != nil {
			t.Errorf("%q: %v", ref, err)
		}
	}
}
