package ps_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
	"github.com/trainmedic/trainmedic/internal/source/ps"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

// box is this machine as another one: its programs are real.
type box struct {
	missing string // programs that it does not have
	rows    string // what its ps says, where it is not asked
}

func (b box) Host() string { return "me@box" }

func (b box) Run(ctx context.Context, argv ...string) ([]byte, error) {
	if argv[0] == "ps" && b.rows != "" {
		return []byte(b.rows), nil
	}
	if slices.Contains(strings.Fields(b.missing), argv[0]) {
		return nil, fmt.Errorf("shell: %w", shell.ErrNoProgram)
	}
	return shell.Local.Run(ctx, argv...)
}

func remote(b box) source.Remote {
	logs := file.Kind(nil)
	return source.Remote{
		Dial: func(context.Context, string) (shell.Shell, error) { return b, nil },
		Logs: &source.Kind{Open: func(ctx context.Context, ref string, opt source.Options) (source.Source, error) {
			_, path := source.Split(ref)
			return logs.Open(ctx, path, opt)
		}},
	}
}

// begin starts a shell in a folder, which says "ready" and then does what it is
// told, a line at a time.
func begin(t *testing.T, dir, script string) (pid int, in io.Writer, wait func()) {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc here")
	}
	cmd := exec.Command("bash", "-c", script+`; echo ready >&3; exec 3>&-; while read -r line; do eval "$line"; done`)
	cmd.Dir = dir
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{w}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	t.Cleanup(func() { stdin.Close(); cmd.Process.Kill(); cmd.Wait(); r.Close() })
	if _, err := io.ReadFull(r, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, stdin, func() { cmd.Wait() }
}

func open(t *testing.T, pid int, opt source.Options) source.Source {
	t.Helper()
	s, err := ps.ByPID(t.Context(), remote(box{}), "me@box", pid, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func look(t *testing.T, s source.Source, since run.Cursor) run.Observation {
	t.Helper()
	obs, err := s.Observe(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	return obs
}

func value(obs run.Observation, key string) string {
	for _, f := range obs.Facts {
		if f.Key == key {
			return f.Value
		}
	}
	return ""
}

func text(t *testing.T, obs run.Observation, name string) string {
	t.Helper()
	for _, st := range obs.Streams {
		if st.Name == name {
			return sourcetest.Text(t, st)
		}
	}
	return ""
}

const toLog = `exec 1>>run.log 2>&1; echo step 1`

func TestARunOfAnotherMachine(t *testing.T) {
	dir := t.TempDir()
	pid, in, wait := begin(t, dir, toLog+`; mkfifo a b; RANK=0 bash -c 'read -r x < a' & RANK=1 bash -c 'read -r x < b' & :`)
	s := open(t, pid, source.Options{Watch: true})
	var obs run.Observation
	ranks := map[int]int{}
	for until := time.Now().Add(20 * time.Second); len(ranks) < 2 && time.Now().Before(until); {
		obs = look(t, s, nil) // the shells may be about to start
		clear(ranks)
		for _, p := range obs.Processes {
			if p.Rank != nil {
				ranks[*p.Rank] = p.PID
			}
		}
	}
	if len(ranks) != 2 || value(obs, run.FactPID) != strconv.Itoa(pid) || !strings.Contains("RS", value(obs, run.FactState)) || value(obs, run.FactChildren) == "0" {
		t.Fatalf("%+v %+v", obs.Processes, obs.Facts)
	}
	if rss, err := strconv.Atoi(value(obs, run.FactRSS)); err != nil || rss < 1<<20 {
		t.Errorf("memory %q", value(obs, run.FactRSS))
	}
	if at, err := time.Parse(time.RFC3339, value(obs, run.FactStart)); err != nil || time.Since(at) > time.Minute {
		t.Errorf("it began %q", value(obs, run.FactStart))
	}
	if got := text(t, obs, "run.log"); got != "step 1\n" {
		t.Errorf("its log is %q", got)
	}
	if value(obs, "disk."+mount(t, obs)+run.DiskAvail) == "" {
		t.Errorf("no disk in %+v", obs.Facts)
	}
	fmt.Fprintln(in, "echo step 2; kill -9 %2; wait %2; echo over > done")
	await(t, filepath.Join(dir, "done"))
	obs = look(t, s, obs.Next)
	if got := text(t, obs, "processes"); !strings.HasSuffix(got, fmt.Sprintf(" process %d of rank 1 has ended while the run goes on; how is not known\n", ranks[1])) {
		t.Errorf("noticed %q", got)
	}
	if got := text(t, obs, "run.log"); !strings.HasPrefix(got, "step 2\n") {
		t.Errorf("its log goes on with %q", got)
	}
	fmt.Fprintln(in, "echo last; kill %1; exit 3")
	wait()
	obs = look(t, s, obs.Next)
	if value(obs, run.FactState) != run.ProcessGone || !strings.Contains(text(t, obs, "run.log"), "last\n") || len(obs.Gaps) != 1 {
		t.Errorf("its end: %+v, %+v, %q", obs.Facts, obs.Gaps, text(t, obs, "run.log"))
	}
	if obs = look(t, s, obs.Next); value(obs, run.FactState) != "" || len(obs.Streams)+len(obs.Gaps) > 0 {
		t.Errorf("told again: %+v", obs)
	}
}

// mount is the file system of which space is told.
func mount(t *testing.T, obs run.Observation) string {
	t.Helper()
	for _, f := range obs.Facts {
		if m, ok := strings.CutPrefix(strings.TrimSuffix(f.Key, run.DiskAvail), "disk."); ok && strings.HasSuffix(f.Key, run.DiskAvail) {
			return m
		}
	}
	return ""
}

func await(t *testing.T, path string) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
			return
		}
	}
	t.Fatalf("%s did not come", path)
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	pid, _, _ := begin(t, dir, toLog)
	sourcetest.Run(t, func(t *testing.T) source.Source { return open(t, pid, source.Options{}) })
}

func TestTheLogGrows(t *testing.T) {
	pids := map[string]int{}
	sourcetest.Grows(t, "run.log", func(t *testing.T, dir string) source.Source {
		if pids[dir] == 0 {
			pids[dir], _, _ = begin(t, dir, `exec 1>>run.log 2>&1`)
		}
		quick := box{missing: "df dmesg journalctl", rows: fmt.Sprintf("%d 1 S 00:10 2048 00:00:01 bash\n", pids[dir])}
		s, err := ps.ByPID(t.Context(), remote(quick), "me@box", pids[dir], source.Options{Watch: true})
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	unique := fmt.Sprintf("train-%d", os.Getpid())
	script := "exec 1>>run.log; : " + unique
	pid, _, _ := begin(t, dir, script)
	by := func(name string) (string, error) {
		s, err := ps.ByName(t.Context(), remote(box{}), "me@box", name, source.Options{})
		if err != nil {
			return "", err
		}
		obs, err := s.Observe(t.Context(), nil)
		return value(obs, run.FactPID), err
	}
	if got, err := by(unique); got != strconv.Itoa(pid) {
		t.Errorf("%s is %q, want %d: %v", unique, got, pid, err)
	}
	begin(t, dir, script)
	if _, err := by(unique); !errors.Is(err, source.ErrBadTarget) || !strings.Contains(fmt.Sprint(err), fmt.Sprintf("--pid me@box:%d", pid)) {
		t.Errorf("two of them: %v", err)
	}
	if _, err := by("no-such-run-anywhere"); !errors.Is(err, source.ErrNotFound) {
		t.Errorf("none: %v", err)
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	s, err := ps.ByPID(t.Context(), remote(box{missing: "ps"}), "me@box", 1, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Observe(t.Context(), nil); !errors.Is(err, source.ErrUnreachable) {
		t.Errorf("a machine without ps: %v", err)
	}
	if _, err := open(t, 1<<22+1, source.Options{}).Observe(t.Context(), nil); !errors.Is(err, source.ErrNotFound) {
		t.Errorf("no such process: %v", err)
	}
	if _, err := ps.ByPID(t.Context(), source.Remote{}, "me@box", 1, source.Options{}); !errors.Is(err, source.ErrBadTarget) {
		t.Errorf("no other machine is reached: %v", err)
	}
}
