package process_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/process"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

// child is a process that a test started and ends.
type child struct {
	*exec.Cmd
	in io.WriteCloser
}

// begin starts a shell that says "ready" and then does what it is told on its
// standard input, a line at a time; the child has said so when begin returns.
func begin(t *testing.T, dir, script string) *child {
	t.Helper()
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc here")
	}
	cmd := exec.Command("bash", "-c", script)
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.ExtraFiles = []*os.File{w} // descriptor 3
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	c := &child{cmd, in}
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait(); out.Close() })
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	await(t, cmd.Process.Pid, "S")
	return c
}

func open(t *testing.T, pid int, opt source.Options) source.Source {
	t.Helper()
	s, err := process.PID(nil, source.Remote{}).Open(t.Context(), strconv.Itoa(pid), opt)
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

func text(t *testing.T, obs run.Observation) string {
	t.Helper()
	var b strings.Builder
	for _, st := range obs.Streams {
		b.WriteString(st.Name + ": " + sourcetest.Text(t, st))
	}
	return b.String()
}

const toLog = `exec 1>>run.log 2>&1; echo step 1; echo ready >&3; exec 3>&-; while read -r line; do eval "$line"; done`

// tell gives the child a command and returns when it is done.
func (c *child) tell(t *testing.T, dir, command string) {
	t.Helper()
	fifo := filepath.Join(dir, "done")
	os.Remove(fifo)
	if err := exec.Command("mkfifo", fifo).Run(); err != nil {
		t.Skip(err)
	}
	fmt.Fprintf(c.in, "%s; echo done > %s\n", command, fifo)
	if _, err := os.ReadFile(fifo); err != nil {
		t.Fatal(err)
	}
}

func TestConformance(t *testing.T) {
	dir := t.TempDir()
	c := begin(t, dir, toLog)
	t.Run("pid", func(t *testing.T) {
		sourcetest.Run(t, func(t *testing.T) source.Source { return open(t, c.Process.Pid, source.Options{}) })
	})
	quiet := begin(t, dir, `exec 1>/dev/null; echo ready >&3; exec 3>&-; read -r line`)
	t.Run("no log", func(t *testing.T) {
		sourcetest.Run(t, func(t *testing.T) source.Source { return open(t, quiet.Process.Pid, source.Options{}) })
	})
}

func TestGrows(t *testing.T) {
	pids := map[string]int{}
	sourcetest.Grows(t, "run.log", func(t *testing.T, dir string) source.Source {
		if pids[dir] == 0 {
			pids[dir] = begin(t, dir, `exec 1>>run.log 2>&1; echo ready >&3; exec 3>&-; read -r line`).Process.Pid
		}
		return open(t, pids[dir], source.Options{Watch: true})
	})
}

func TestALiveProcessAndItsLog(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("NCCL_DEBUG", "INFO")
	t.Setenv("HF_TOKEN", "abc")
	c := begin(t, dir, toLog)
	s := open(t, c.Process.Pid, source.Options{})
	obs := look(t, s, nil)
	for key, want := range map[string]string{
		run.FactPID: strconv.Itoa(c.Process.Pid), run.FactState: "S", run.FactCwd: dir, run.FactChildren: "0", "env.NCCL_DEBUG": "INFO", "env.HF_TOKEN": "",
	} {
		if got := value(obs, key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := value(obs, run.FactCommand); !strings.HasPrefix(got, "bash -c 'exec") {
		t.Errorf("command %q", got)
	}
	if rss, err := strconv.Atoi(value(obs, run.FactRSS)); err != nil || rss < 1<<20 || value(obs, run.FactStart) == "" {
		t.Errorf("facts %+v", obs.Facts)
	}
	if diff := cmp.Diff("run.log: step 1\n", text(t, obs)); diff != "" {
		t.Error(diff)
	}
	c.tell(t, dir, "mkfifo hold; (echo started > hold; exec 1>&- 2>&-; exec sleep 100) & read -r x < hold; echo step 2")
	await(t, c.Process.Pid, "S")
	for until := time.Now().Add(20 * time.Second); !strings.Contains(string(sleeping(t, c.Process.Pid)), "sleep") && time.Now().Before(until); {
		runtime.Gosched()
	}
	obs = look(t, open(t, c.Process.Pid, source.Options{}), obs.Next)
	if diff := cmp.Diff("run.log: step 2\n", text(t, obs)); diff != "" {
		t.Error(diff)
	}
	if value(obs, run.FactChildren) != "1" || len(obs.Processes) != 2 || !strings.Contains(obs.Processes[1].Command, "sleep 100") {
		t.Errorf("processes %+v", obs.Processes)
	}
	c.tell(t, dir, `kill %1; wait; rm run.log; echo after`)
	obs = look(t, s, obs.Next)
	if got := text(t, obs); got != "run.log: after\n" || value(obs, run.FactChildren) != "0" {
		t.Errorf("a deleted log gives %q; %+v", got, obs)
	}
}

// sleeping is the command line of the first child.
func sleeping(t *testing.T, pid int) []byte {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		t.Skip(err)
	}
	f := strings.Fields(string(b))
	if len(f) == 0 {
		return nil
	}
	b, _ = os.ReadFile("/proc/" + f[0] + "/cmdline")
	return b
}

func TestProcessorTime(t *testing.T) {
	dir := t.TempDir()
	p := begin(t, dir, toLog)
	s := open(t, p.Process.Pid, source.Options{})
	obs := look(t, s, nil)
	p.tell(t, dir, "for ((i = 0; i < 400000; i++)); do :; done")
	await(t, p.Process.Pid, "S")
	was, err := strconv.ParseFloat(value(obs, run.FactCPU), 64)
	now, errNow := strconv.ParseFloat(value(look(t, s, obs.Next), run.FactCPU), 64)
	if err != nil || errNow != nil || now < was+0.1 {
		t.Errorf("from %v to %v; %v, %v", was, now, err, errNow)
	}
}

func TestEnd(t *testing.T) {
	for name, c := range map[string]struct {
		last, code, signal string
	}{
		"exit code": {"exit 3", "3", ""}, "success": {"exit 0", "0", ""}, "signal": {"kill -9 $$", "137", "SIGKILL"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			p := begin(t, dir, toLog)
			s := open(t, p.Process.Pid, source.Options{})
			obs := look(t, s, nil)
			fmt.Fprintln(p.in, "echo last; "+c.last)
			await(t, p.Process.Pid, "Z")
			obs = look(t, s, obs.Next)
			if got := value(obs, run.FactState); got != "Z" || value(obs, run.FactExitCode) != c.code || value(obs, run.FactExitSig) != c.signal {
				t.Errorf("a zombie: %+v", obs.Facts)
			}
			p.Wait()
			obs = look(t, s, obs.Next)
			if value(obs, run.FactState) != run.ProcessGone || len(obs.Gaps) != 0 {
				t.Errorf("gone: %+v, %+v", obs.Facts, obs.Gaps)
			}
			if obs = look(t, s, obs.Next); len(obs.Facts)+len(obs.Streams)+len(obs.Gaps) > 0 {
				t.Errorf("told again: %+v", obs)
			}
		})
	}
}

// await waits until a process is in a state, without taking its status.
func await(t *testing.T, pid int, state string) {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), ") "+state+" ") {
			return
		}
		runtime.Gosched()
	}
	t.Fatalf("process %d did not come to state %s", pid, state)
}

func TestGoneUnseen(t *testing.T) {
	dir := t.TempDir()
	p := begin(t, dir, toLog)
	s := open(t, p.Process.Pid, source.Options{})
	obs := look(t, s, nil)
	fmt.Fprintln(p.in, "echo last; echo -n Killed; exit 1")
	p.Wait()
	obs = look(t, s, obs.Next)
	if got := text(t, obs); got != "run.log: last\nKilled" || value(obs, run.FactState) != run.ProcessGone || len(obs.Gaps) != 1 {
		t.Errorf("%q, %+v, %+v", got, obs.Facts, obs.Gaps)
	}
	if _, err := open(t, p.Process.Pid, source.Options{}).Observe(t.Context(), nil); !errors.Is(err, source.ErrNotFound) {
		t.Errorf("a PID that is gone: %v", err)
	}
	used := run.Cursor{"process": strconv.Itoa(os.Getpid()) + " 12"} // the PID is another's now
	if obs := look(t, s, used); value(obs, run.FactState) != run.ProcessGone {
		t.Errorf("a PID that was used again: %+v", obs.Facts)
	}
}

func TestWhereTheLogIs(t *testing.T) {
	const ready = `echo ready >&3; exec 3>&-; read -r line`
	for name, c := range map[string]struct{ script, want string }{
		"both streams in a file":      {`exec >a.txt 2>&1; echo hello; ` + ready, "a.txt: hello\n"},
		"each in a file":              {`exec >a.out 2>a.err; echo hello; echo oh >&2; ` + ready, "a.err: oh\na.out: hello\n"},
		"a log held open":             {`exec >/dev/null 2>&1 4>>train.log; echo hello >&4; ` + ready, "train.log: hello\n"},
		"a log larger than the other": {`exec >nohup.out 2>&1 4>>train.log; echo x; echo hello >&4; ` + ready, "nohup.out: x\ntrain.log: hello\n"},
		"a child's":                   {`exec >/dev/null 2>&1; (exec >rank.log; echo hello; ` + ready + `) <&0 & wait`, "rank.log: hello\n"},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, t.TempDir(), c.script)
			if diff := cmp.Diff(c.want, text(t, look(t, open(t, p.Process.Pid, source.Options{}), nil))); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("behind tee", func(t *testing.T) {
		dir := t.TempDir()
		begin(t, dir, `bash -c 'echo $$ > pid; echo hello; while ! grep -q hello t.log 2>/dev/null; do :; done; `+strings.Replace(ready, "read -r line", "read -r line <&0", 1)+`' | tee t.log >/dev/null`)
		b, err := os.ReadFile(filepath.Join(dir, "pid"))
		if err != nil {
			t.Fatal(err)
		}
		pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
		await(t, pid, "S")
		if diff := cmp.Diff("t.log: hello\n", text(t, look(t, open(t, pid, source.Options{}), nil))); diff != "" {
			t.Error(diff)
		}
	})
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	unique := fmt.Sprintf("train-%d.py", os.Getpid())
	os.WriteFile(filepath.Join(dir, unique), []byte("echo ready >&3; exec 3>&-; bash -c 'read -r line' "+unique), 0o644)
	by := func(name string) (string, error) {
		s, err := process.Name(nil, source.Remote{}).Open(t.Context(), name, source.Options{})
		if err != nil {
			return "", err
		}
		obs, err := s.Observe(t.Context(), nil)
		return value(obs, run.FactPID), err
	}
	if _, err := by(unique); !errors.Is(err, source.ErrNotFound) {
		t.Errorf("no process: %v", err)
	}
	one := begin(t, dir, "exec bash "+filepath.Join(dir, unique)+" --lr 0.1")
	for _, name := range []string{unique, filepath.Join(dir, unique), "bash " + unique, unique[:len(unique)-3], unique + " --lr 0.1", "bash " + filepath.Join(dir, unique) + " --lr 0.1"} {
		if got, err := by(name); got != strconv.Itoa(one.Process.Pid) {
			t.Errorf("%s is %s, want %d: %v", name, got, one.Process.Pid, err)
		}
	}
	two := begin(t, dir, "exec bash "+unique)
	_, err := by(unique)
	if !errors.Is(err, source.ErrBadTarget) {
		t.Fatalf("two processes: %v", err)
	}
	for _, p := range []*child{one, two} {
		if !strings.Contains(err.Error(), fmt.Sprintf("--pid %-8d", p.Process.Pid)) {
			t.Errorf("%d is not listed: %v", p.Process.Pid, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		kind *source.Kind
		ref  string
	}{
		"no number": {process.PID(nil, source.Remote{}), "abc"}, "negative": {process.PID(nil, source.Remote{}), "-1"}, "no name": {process.Name(nil, source.Remote{}), " "},
	} {
		if _, err := c.kind.Open(t.Context(), c.ref, source.Options{}); !errors.Is(err, source.ErrBadTarget) {
			t.Errorf("%s: %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := open(t, os.Getpid(), source.Options{}).Observe(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
