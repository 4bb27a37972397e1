//go:build linux

package effect_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect"
	"github.com/trainmedic/trainmedic/internal/remote/sshdtest"
	"github.com/trainmedic/trainmedic/internal/source/process"
)

// TestMain is also the program that stands between a connection and its shell: it
// lets the shell get a script that holds cutAt, waits until that has done
// something, and cuts the connection without an answer, once.
func TestMain(m *testing.M) {
	if at := os.Getenv("CUT_AT"); at != "" {
		between(at, os.Getenv("CUT_DIR"))
		return
	}
	os.Exit(m.Run())
}

func between(at, dir string) {
	sh := exec.Command("sh")
	in, _ := sh.StdinPipe()
	out, _ := sh.StdoutPipe()
	sh.Stderr = os.Stderr
	if sh.Start() != nil {
		return
	}
	cut := make(chan struct{})
	go func() {
		b := make([]byte, 64<<10)
		for {
			n, err := out.Read(b)
			select {
			case <-cut:
				return // the answer is lost
			default:
				os.Stdout.Write(b[:n])
			}
			if err != nil {
				os.Exit(0)
			}
		}
	}()
	var said []byte
	b := make([]byte, 64<<10)
	for {
		n, err := os.Stdin.Read(b)
		said = append(said, b[:n]...)
		once, had := os.OpenFile(filepath.Join(dir, "cut"), os.O_CREATE|os.O_EXCL, 0o600)
		if had == nil && !bytes.Contains(said, []byte(at)) {
			once.Close()
			os.Remove(once.Name())
		} else if had == nil {
			close(cut)
			in.Write(b[:n])
			for late := time.Now().Add(20 * time.Second); time.Now().Before(late); <-time.After(10 * time.Millisecond) {
				if st, err := os.Stat(filepath.Join(dir, "done")); err == nil && st.Size() > 0 {
					break
				}
			}
			syscall.Kill(os.Getppid(), syscall.SIGKILL)
			return
		}
		in.Write(b[:n])
		if err != nil {
			in.Close()
			sh.Wait()
			return
		}
	}
}

// far is a gate and a host that SSH reaches as "box".
func far(t *testing.T, config ...string) (*bench, *sshdtest.Server) {
	t.Helper()
	s := sshdtest.Start(t, config...)
	h := sshdtest.NewHome(t, s)
	h.Config(sshdtest.Box("box", s))
	t.Setenv("HOME", h.Dir)
	return newBench(t, &effect.Effects{}), s
}

// cutting is a far whose connection is cut when a script with that word has
// arrived and has done something; dir is where it says so.
func cutting(t *testing.T, at string) (b *bench, dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	b, _ = far(t, fmt.Sprintf("ForceCommand env 'CUT_AT=%s' CUT_DIR=%s %s", at, dir, self))
	return b, dir
}

func (j *job) farTarget() string { return fmt.Sprintf("pid:box:%d", j.Process.Pid) }

// unknown has an action done that is cut, and gives what is said of it.
func (b *bench) unknown(p gate.Proposal) string {
	b.t.Helper()
	r, ruling, err := b.Propose(b.t.Context(), p)
	if err != nil {
		b.t.Fatal(err)
	}
	if ruling == gate.Ask {
		if _, err := b.decider.Decide(gate.Decision{ID: r.ID, Digest: r.Digest, Yes: true}); err != nil {
			b.t.Fatal(err)
		}
	}
	r, out, err := b.Execute(b.t.Context(), "", r.ID, nil)
	if err != nil || r.State != gate.Interrupted || out.Run != nil || !strings.Contains(r.Outcome, "unknown outcome") {
		b.t.Fatalf("%+v, %v", r, err)
	}
	if _, _, err := b.Execute(b.t.Context(), "", r.ID, nil); err == nil {
		b.t.Error("it is done a second time")
	}
	return r.Outcome
}

func TestARunOfAHostIsStartedAgainAsItWas(t *testing.T) {
	b, _ := far(t)
	j := start(t, "echo ready $RUN_COLOR \"$ODD\" $EXTRA $1 in $(pwd); env >env.$(wc -l <train.log); while :; do sleep 600; done\n")
	j.kill(t)
	odd := "it's $(touch never) \\ `id` \"x\"\nsecond line"
	j = begin(t, j.dir, "env", "ODD="+odd, "BASH_FUNC_module%%=() { echo m; }", "sh", "train.sh")
	b.sees(effect.Seen{Watch: "w1", Host: "box", PID: j.Process.Pid})
	p := gate.Proposal{Run: "w1", Target: j.farTarget(), Action: gate.Restart}
	b.refused(p, "still_runs")
	j.kill(t)
	r, out := b.done(p, gate.Allow)
	if out.Run == nil || out.Run.Log() != "box:"+j.log || out.Watch != "w1" || strings.Contains(r.Outcome, "its log says why") {
		t.Fatalf("%+v, %+v", r, out)
	}
	j.says(t, "ready blue "+strings.Split(odd, "\n")[0])
	j.says(t, "ready blue")
	pid := out.Run.PID()
	if d := cmp.Diff([]string{"sh", "train.sh"}, process.Args(pid)); d != "" {
		t.Error(d)
	}
	env := strings.Join(process.Environ(pid), "\x00")
	for _, want := range []string{"ODD=" + odd, "BASH_FUNC_module%%=() { echo m; }", "WANDB_API_KEY=" + strings.Repeat("a1b2", 10)} {
		if !strings.Contains(env, want) {
			t.Errorf("%q is not in its environment", want)
		}
	}
	if strings.Contains(env, "SSH_CONNECTION=") {
		t.Errorf("it has an environment of the connection: %q", env)
	}
	if group, err := syscall.Getpgid(pid); err != nil || group != pid {
		t.Errorf("its group is %d, %v", group, err)
	}
	if _, err := os.Stat(filepath.Join(j.dir, "never")); err == nil {
		t.Error("a shell has taken a value for a command")
	}
	text := strings.Join(r.Does, "\n")
	if strings.Contains(text, "a1b2a1b2") || !strings.Contains(text, "sh train.sh") || !strings.Contains(text, j.dir+" on box") {
		t.Error(text)
	}
	obs, err := out.Run.Observe(t.Context(), nil)
	if err != nil || len(obs.Streams) == 0 {
		t.Errorf("it cannot be watched: %v", err)
	}
	b.refused(p, "still_runs")

	r, _ = b.done(gate.Proposal{Target: fmt.Sprintf("pid:box:%d", pid), Action: gate.Terminate}, gate.Ask)
	if k, err := process.Know(pid); r.State != gate.Done || err == nil && k.Lives() {
		t.Fatalf("%+v", r)
	}
	p.Action, p.Args = gate.RestartWith, gate.Args{Command: []string{"sh", "train.sh", "--resume=$(touch never)"}, Env: map[string]string{"EXTRA": "more"}}
	r, _ = b.done(p, gate.Ask)
	j.says(t, "more --resume=$(touch never) in "+j.dir)
	if text := strings.Join(r.Does, "\n"); !strings.Contains(text, "sh train.sh '--resume=$(touch never)'") || !strings.Contains(text, "on box") {
		t.Error(text)
	}
}

func TestTheWriterOfALogOfAHostIsRemembered(t *testing.T) {
	b, _ := far(t)
	j := start(t, "echo ready; while :; do sleep 600; done\n")
	b.sees(effect.Seen{Watch: "w1", Host: "box", Log: j.log})
	j.kill(t)
	if _, out := b.done(gate.Proposal{Run: "w1", Target: "box:" + j.log, Action: gate.Restart}, gate.Allow); out.Run.Log() != "box:"+j.log {
		t.Error(out.Run.Log())
	}
}

func TestAWholeRunOfAHostIsEnded(t *testing.T) {
	const stubborn = `trap '' TERM
setsid sh -c 'trap "" TERM; echo $$ >far; while :; do sleep 1; done' &
while [ ! -s far ]; do sleep 0.05; done
echo ready; while :; do sleep 1; done
`
	b, _ := far(t)
	for name, script := range map[string]string{"it goes when asked": waits, "it has to be killed, and one below it that left its group": stubborn} {
		t.Run(name, func(t *testing.T) {
			j := start(t, script)
			r, _ := b.done(gate.Proposal{Target: j.farTarget(), Action: gate.Terminate}, gate.Ask)
			if r.State != gate.Done || !strings.Contains(r.Outcome, "on box") {
				t.Fatalf("%+v", r)
			}
			<-j.over
			left, _ := os.ReadFile(filepath.Join(j.dir, "far"))
			var pid int
			if n, _ := fmt.Sscan(string(left), &pid); n == 1 {
				if k, err := process.Know(pid); err == nil && k.Lives() {
					syscall.Kill(pid, syscall.SIGKILL)
					t.Errorf("process %d, which left the group, lives: %s", pid, r.Outcome)
				}
			}
			b.refused(gate.Proposal{Target: j.farTarget(), Action: gate.Terminate}, "gone")
		})
	}
	for target, kind := range map[string]string{
		"pid:box:1": "own_process", fmt.Sprintf("pid:box:%d", os.Getpid()): "own_process", "pid:box:0": "gone", "pid:box:999999999": "gone", "pid:box:12; rm": "bad_target",
	} {
		b.refused(gate.Proposal{Target: target, Action: gate.Terminate}, kind)
	}
}

// TestAHostThatIsAnotherOne has the host's key changed between the approval and
// the action, and its machine gone.
func TestAHostThatIsAnotherOne(t *testing.T) {
	b, s := far(t)
	j := start(t, waits)
	p := gate.Proposal{Target: j.farTarget(), Action: gate.Terminate, Principal: "agent"}
	approved := func() gate.Record {
		t.Helper()
		r, _, err := b.Propose(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.decider.Decide(gate.Decision{ID: r.ID, Digest: r.Digest, Yes: true}); err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := approved()
	s.Stop()
	s.NewKey()
	s.Run()
	_, _, err := b.Execute(t.Context(), "agent", r.ID, nil)
	if why, ok := errors.AsType[gate.Refusal](err); !ok || why.Kind != "target_changed" || !strings.Contains(why.Why, "key of box changed") {
		t.Errorf("another key: %v", err)
	}
	h := sshdtest.NewHome(t, s) // whose known hosts have the new key
	h.Config(sshdtest.Box("box", s))
	t.Setenv("HOME", h.Dir)
	b = newBench(t, &effect.Effects{})
	r = approved()
	j.kill(t)
	if _, _, err := b.Execute(t.Context(), "agent", r.ID, nil); err == nil {
		t.Error("it was done though its process had gone")
	}
	s.Stop()
	if _, _, err := b.Propose(t.Context(), p); err == nil {
		t.Error("a host that is away is acted upon")
	}
}

func TestACutAfterTheSignal(t *testing.T) {
	b, dir := cutting(t, "kill -TERM")
	j := start(t, "trap 'echo TERM >>"+dir+"/done' TERM\necho ready\nwhile :; do sleep 0.1; done\n")
	said := b.unknown(gate.Proposal{Target: j.farTarget(), Action: gate.Terminate})
	if got, err := os.ReadFile(filepath.Join(dir, "done")); err != nil || string(got) != "TERM\n" {
		t.Errorf("it was asked to end %q, %v", got, err)
	}
	if !strings.Contains(said, fmt.Sprintf("process %d is still there", j.Process.Pid)) {
		t.Error(said)
	}
}

func TestACutAfterTheStart(t *testing.T) {
	b, dir := cutting(t, "setsid env -i")
	j := start(t, "echo ready; echo start >>"+dir+"/starts; [ ! -s "+dir+"/killed ] || cp "+dir+"/starts "+dir+"/done; while :; do sleep 600; done\n")
	b.sees(effect.Seen{Watch: "w1", Host: "box", PID: j.Process.Pid})
	j.kill(t)
	if err := os.WriteFile(filepath.Join(dir, "killed"), []byte("y"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := gate.Proposal{Run: "w1", Action: gate.Restart}
	said := b.unknown(p)
	var pid int
	if _, again, ok := strings.Cut(said, "runs there now as process "); ok {
		fmt.Sscan(again, &pid)
		t.Cleanup(func() { syscall.Kill(-pid, syscall.SIGKILL) })
	}
	if starts, err := os.ReadFile(filepath.Join(dir, "starts")); err != nil || string(starts) != "start\nstart\n" || pid == 0 {
		t.Errorf("it was started %q, %v: %s", starts, err, said)
	}
	b.refused(p, "still_runs")
	syscall.Kill(-pid, syscall.SIGKILL)
	eventually(t, func() bool { k, err := process.Know(pid); return err != nil || !k.Lives() })
	r, ruling, err := b.Propose(t.Context(), p) // a safe action asks after that
	if err != nil || ruling != gate.Ask || !strings.Contains(r.Changed, "nobody knows whether it was done") {
		t.Errorf("%s %v %+v", ruling, err, r)
	}
}

func TestACheckpointOfAHostIsPointedAt(t *testing.T) {
	b, _ := far(t)
	j := start(t, waits)
	b.sees(effect.Seen{Watch: "w1", Host: "box", PID: j.Process.Pid})
	header := `{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
	good, torn := filepath.Join(j.dir, "step_100.safetensors"), filepath.Join(j.dir, "step_200.safetensors")
	for path, b := range map[string][]byte{good: append(append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...), make([]byte, 8)...), torn: {200, 0, 0, 0, 0, 0, 0, 0, '{'}} {
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := gate.Proposal{Run: "w1", Target: j.farTarget(), Action: gate.Repoint, Args: gate.Args{Checkpoint: good}}
	b.refused(p, "no_pointer")
	link := filepath.Join(j.dir, "last.safetensors")
	if err := os.Symlink("step_200.safetensors", link); err != nil {
		t.Fatal(err)
	}
	b.refused(gate.Proposal{Run: "w1", Action: gate.Repoint, Args: gate.Args{Checkpoint: torn}}, "not_complete")
	b.refused(gate.Proposal{Run: "w1", Action: gate.Repoint, Args: gate.Args{Checkpoint: link}}, "not_complete")
	r, _ := b.done(p, gate.Allow)
	if to, err := os.Readlink(link); err != nil || to != "step_100.safetensors" || !strings.Contains(r.Outcome, "on box") {
		t.Errorf("%s, %v: %s", to, err, r.Outcome)
	}
	b.refused(p, "done_already")
	tag := filepath.Join(j.dir, "latest")
	if err := errors.Join(os.Remove(link), os.WriteFile(tag, []byte("global_step200\n"), 0o640)); err != nil {
		t.Fatal(err)
	}
	p.Target = "box:" + j.log
	b.done(p, gate.Allow)
	if text, err := os.ReadFile(tag); err != nil || string(text) != "step_100.safetensors" {
		t.Errorf("%q, %v", text, err)
	}
	if st, err := os.Stat(tag); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

func TestEvidenceOfAHostIsFetched(t *testing.T) {
	b, _ := far(t)
	log := filepath.Join(t.TempDir(), "train.log")
	if err := os.WriteFile(log, []byte("step 1 loss=2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, _ := b.done(gate.Proposal{Target: "box:" + log, Action: gate.FetchEvidence}, gate.Allow)
	got, err := filepath.Glob(filepath.Join(b.effects.Dir, "evidence", "*", "*"))
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v: %s", got, err, r.Outcome)
	}
	f, err := os.Open(got[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if text, err := io.ReadAll(f); err != nil || string(text) != "step 1 loss=2\n" {
		t.Errorf("%q, %v", text, err)
	}
}
