package process_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/artifacts"
	"github.com/trainmedic/trainmedic/internal/source/process"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

// screen is a terminal that remembers.
type screen struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func start(t *testing.T, ctx context.Context, l source.Launch, opt source.Options) source.Started {
	t.Helper()
	if l.LogDir == "" {
		l.LogDir = t.TempDir()
	}
	s, err := process.Start(ctx, l, opt, artifacts.Kind())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		select {
		case <-s.Done():
		default:
			syscall.Kill(-s.PID(), syscall.SIGKILL)
			<-s.Done()
		}
	})
	return s
}

func bash(script string) []string { return []string{"bash", "-c", script} }

func TestAStartedRunEnds(t *testing.T) {
	for name, c := range map[string]struct{ script, code, signal string }{
		"well": {"echo out; echo err >&2", "0", ""}, "with a code": {"echo out; echo err >&2; exit 7", "7", ""},
		"by a signal": {"echo out; echo err >&2; kill -SEGV $$", "139", "SIGSEGV"},
	} {
		t.Run(name, func(t *testing.T) {
			var term screen
			s := start(t, t.Context(), source.Launch{Args: bash(c.script), Terminal: &term}, source.Options{})
			<-s.Done()
			obs := look(t, s, nil)
			if value(obs, run.FactState) != run.ProcessGone || value(obs, run.FactExitCode) != c.code || value(obs, run.FactExitSig) != c.signal {
				t.Errorf("%+v", obs.Facts)
			}
			if diff := cmp.Diff(filepath.Base(s.Log())+": out\nerr\n", text(t, obs)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff("out\nerr\n", term.b.String()); diff != "" {
				t.Error(diff)
			}
			if len(obs.Gaps) > 0 {
				t.Errorf("%+v", obs.Gaps)
			}
		})
	}
}

func TestAStartedRunLives(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	s := start(t, ctx, source.Launch{Args: bash("echo $PWD; echo in: $(cat); mkfifo go; read -r x < go; echo more; exit 5"), Dir: dir}, source.Options{})
	awaitFile(t, filepath.Join(dir, "go"))
	cancel() // nobody watches any more
	obs := look(t, s, nil)
	if got, want := text(t, obs), filepath.Base(s.Log())+": "+dir+"\nin:\n"; got != want || value(obs, run.FactPID) != strconv.Itoa(s.PID()) || value(obs, run.FactCwd) != dir {
		t.Errorf("got %q, want %q, %+v", got, want, obs.Facts)
	}
	if pgid, err := syscall.Getpgid(s.PID()); err != nil || pgid != s.PID() {
		t.Errorf("process group %d, %v", pgid, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte("x\n"), 0); err != nil {
		t.Fatal(err)
	}
	<-s.Done()
	obs = look(t, s, obs.Next)
	if text(t, obs) != filepath.Base(s.Log())+": more\n" || value(obs, run.FactExitCode) != "5" {
		t.Errorf("%q, %+v", text(t, obs), obs.Facts)
	}
	if obs = look(t, s, obs.Next); len(obs.Facts)+len(obs.Streams) > 0 {
		t.Errorf("told again: %+v", obs)
	}
}

func awaitFile(t *testing.T, path string) {
	t.Helper()
	for t.Context().Err() == nil {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
}

func TestAStartedRunIsEndedWhenAsked(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	s := start(t, ctx, source.Launch{Args: bash("trap 'exit 9' TERM; mkfifo go; read -r x < go"), Dir: dir, End: true}, source.Options{})
	awaitFile(t, filepath.Join(dir, "go"))
	await(t, s.PID(), "S")
	cancel()
	<-s.Done()
	if obs := look(t, s, nil); value(obs, run.FactExitCode) != "9" {
		t.Errorf("%+v", obs.Facts)
	}
}

func TestAStartedRunIsASource(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) source.Source {
		s := start(t, t.Context(), source.Launch{Args: bash("echo step 1")}, source.Options{})
		<-s.Done()
		return s
	})
}

func TestAStartedRunAndItsFolder(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	s := start(t, t.Context(), source.Launch{Args: bash(`mkdir -p out; echo '{"lr": 0.1}' > out/config.json`), Dir: dir}, source.Options{Artifacts: out, Watch: true})
	<-s.Done()
	if obs := look(t, s, nil); value(obs, "config.lr") != "0.1" {
		t.Errorf("%+v %+v", obs.Facts, obs.Gaps)
	}
}

func TestWhatCannotBeStarted(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "plain"), nil, 0o644)
	for name, c := range map[string]struct {
		args []string
		want error
	}{
		"nothing": {nil, source.ErrBadTarget}, "no such command": {[]string{"no-such-command-here"}, source.ErrNotFound},
		"no such path": {[]string{filepath.Join(dir, "none")}, source.ErrNotFound}, "not to be run": {[]string{filepath.Join(dir, "plain")}, source.ErrDenied},
	} {
		if _, err := process.Start(t.Context(), source.Launch{Args: c.args, LogDir: dir}, source.Options{}, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestLogsAreNamedForTheScript(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "train.py"), []byte("print('step 1', end='')"), 0o644)
	for range 2 {
		s := start(t, t.Context(), source.Launch{Args: []string{"bash", filepath.Join(dir, "train.py")}, LogDir: dir}, source.Options{})
		<-s.Done()
		if !strings.HasPrefix(filepath.Base(s.Log()), "train.py-") {
			t.Error(s.Log())
		}
	}
	if logs, _ := filepath.Glob(filepath.Join(dir, "*.log")); len(logs) != 2 {
		t.Errorf("%v", logs)
	}
}
