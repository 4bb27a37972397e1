//go:build linux

package effect_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect"
	"github.com/trainmedic/trainmedic/internal/source/all"
	"github.com/trainmedic/trainmedic/internal/source/process"
)

// bench is a gate over real effects.
type bench struct {
	*gate.Gate
	t       *testing.T
	decider *gate.Decider
	effects *effect.Effects
}

func newBench(t *testing.T, e *effect.Effects) *bench {
	t.Helper()
	e.Sources, e.Start, e.Dir, e.Grace = all.Kinds(), all.Start, t.TempDir(), 2*time.Second
	g, d, err := gate.Open(t.TempDir(), gate.Policy{On: true}, e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return &bench{g, t, d, e}
}

// remember has a process of this machine remembered.
func (b *bench) remember(watch string, pid int) {
	b.t.Helper()
	b.sees(effect.Seen{Watch: watch, PID: pid})
}

func (b *bench) sees(s effect.Seen) {
	b.t.Helper()
	if err := b.effects.Remember(b.t.Context(), s); err != nil {
		b.t.Fatal(err)
	}
}

// refused wants a proposal to be refused, and why.
func (b *bench) refused(p gate.Proposal, kind string) {
	b.t.Helper()
	r, ruling, err := b.Propose(b.t.Context(), p)
	if why, ok := errors.AsType[gate.Refusal](err); !ok || why.Kind != kind {
		b.t.Errorf("%s: got %s %v %v, want a refusal of kind %s", p.Action, ruling, r.Does, err, kind)
	}
}

// done proposes, decides as a person where one is asked, and has it done.
func (b *bench) done(p gate.Proposal, want gate.Ruling) (gate.Record, gate.Outcome) {
	b.t.Helper()
	r, ruling, err := b.Propose(b.t.Context(), p)
	if err != nil || ruling != want {
		b.t.Fatalf("%s: got %s, %v; want %s", p.Action, ruling, err, want)
	}
	if ruling == gate.Ask {
		if _, err := b.decider.Decide(gate.Decision{ID: r.ID, Digest: r.Digest, Yes: true, By: "a person"}); err != nil {
			b.t.Fatal(err)
		}
	}
	r, out, err := b.Execute(b.t.Context(), "", r.ID, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	if out.Run != nil {
		b.t.Cleanup(func() {
			if k, err := process.Know(out.Run.PID()); err == nil && k.Lives() {
				syscall.Kill(-out.Run.PID(), syscall.SIGKILL)
			}
			if strings.HasPrefix(out.Run.Log(), "box:") {
				out.Run.Close() // nobody waits for its end
			}
			<-out.Run.Done()
		})
	}
	return r, out
}

// job is a real process with a log, as a shell's job is.
type job struct {
	*exec.Cmd
	dir, log string
	over     chan struct{}
}

func start(t *testing.T, script string, args ...string) *job {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "train.sh")
	if err := os.WriteFile(path, []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	return begin(t, dir, append([]string{"sh", "train.sh"}, args...)...)
}

func begin(t *testing.T, dir string, argv ...string) *job {
	t.Helper()
	j := &job{Cmd: exec.Command(argv[0], argv[1:]...), dir: dir, log: filepath.Join(dir, "train.log"), over: make(chan struct{})}
	out, err := os.OpenFile(j.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	j.Dir, j.Stdout, j.Stderr, j.SysProcAttr = dir, out, out, &syscall.SysProcAttr{Setpgid: true}
	j.Env = append(os.Environ(), "RUN_COLOR=blue", "WANDB_API_KEY="+strings.Repeat("a1b2", 10))
	if err := j.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { j.Wait(); close(j.over) }()
	t.Cleanup(func() { j.kill(t) })
	j.says(t, "ready")
	return j
}

// kill ends all of a job, and waits until all of it is gone.
func (j *job) kill(t *testing.T) {
	syscall.Kill(-j.Process.Pid, syscall.SIGKILL)
	<-j.over
	eventually(t, func() bool {
		return !slices.ContainsFunc(process.All(), func(pid int) bool {
			group, err := syscall.Getpgid(pid)
			k, gone := process.Know(pid)
			return err == nil && gone == nil && group == j.Process.Pid && k.Lives()
		})
	})
}

// says waits until the log holds a text.
func (j *job) says(t *testing.T, text string) {
	t.Helper()
	eventually(t, func() bool {
		b, _ := os.ReadFile(j.log)
		return strings.Contains(string(b), text)
	})
}

func eventually(t *testing.T, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) // a cleanup waits, too
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("it does not come about")
		}
	}
}

func (j *job) target() string { return fmt.Sprintf("pid:%d", j.Process.Pid) }

func TestACheckpointIsPointedAt(t *testing.T) {
	whole := func(t *testing.T, path string) {
		t.Helper()
		header := `{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`
		b := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...)
		if err := os.WriteFile(path, append(b, make([]byte, 8)...), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t, &effect.Effects{})
	dir := t.TempDir()
	good, torn, link := filepath.Join(dir, "step_100.safetensors"), filepath.Join(dir, "step_200.safetensors"), filepath.Join(dir, "last.safetensors")
	whole(t, good)
	if err := os.WriteFile(torn, []byte{200, 0, 0, 0, 0, 0, 0, 0, '{'}, 0o644); err != nil {
		t.Fatal(err)
	}
	p := gate.Proposal{Action: gate.Repoint, Args: gate.Args{Checkpoint: good}}
	b.refused(p, "no_pointer")
	if err := os.Symlink("step_200.safetensors", link); err != nil {
		t.Fatal(err)
	}
	for path, kind := range map[string]string{torn: "not_complete", link: "not_complete", filepath.Join(dir, "nothing"): "not_complete", "step_100.safetensors": "bad_arguments", "": "bad_arguments"} {
		b.refused(gate.Proposal{Action: gate.Repoint, Args: gate.Args{Checkpoint: path}}, kind)
	}
	asks := func(want string) {
		t.Helper()
		if r, ruling, err := b.Propose(t.Context(), p); err != nil || ruling != gate.Ask || !strings.Contains(r.Changed, want) {
			t.Errorf("got %s %v %q, want a question with %q", ruling, err, r.Changed, want)
		}
	}
	asks("in the folder of no run")
	if err := os.WriteFile(filepath.Join(dir, "train.sh"), []byte(waits), 0o644); err != nil {
		t.Fatal(err)
	}
	b.remember("w1", begin(t, dir, "sh", "train.sh").Process.Pid)
	newer := filepath.Join(dir, "step_300.safetensors")
	whole(t, newer)
	if err := errors.Join(os.Remove(link), os.Symlink("step_300.safetensors", link)); err != nil {
		t.Fatal(err)
	}
	asks("rolled back")
	if err := errors.Join(os.Remove(link), os.Symlink("step_200.safetensors", link)); err != nil {
		t.Fatal(err)
	}
	p.Principal = "" // what asked before waits still
	r, _ := b.done(p, gate.Allow)
	if to, err := os.Readlink(link); err != nil || to != "step_100.safetensors" || !strings.Contains(r.Outcome, "step_200") {
		t.Errorf("%s, %v: %s", to, err, r.Outcome)
	}
	b.refused(p, "done_already")

	tag := filepath.Join(dir, "latest")
	if err := errors.Join(os.Remove(link), os.WriteFile(tag, []byte("global_step200\n"), 0o640)); err != nil {
		t.Fatal(err)
	}
	b.done(p, gate.Allow)
	if text, err := os.ReadFile(tag); err != nil || string(text) != "step_100.safetensors" {
		t.Errorf("%q, %v", text, err)
	}
	if st, err := os.Stat(tag); err != nil || st.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
}

func TestEvidenceIsFetched(t *testing.T) {
	b := newBench(t, &effect.Effects{})
	log := filepath.Join(t.TempDir(), "train.log")
	if err := os.WriteFile(log, []byte("step 1 loss=2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, _ := b.done(gate.Proposal{Target: "file:" + log, Action: gate.FetchEvidence}, gate.Allow)
	got, err := filepath.Glob(filepath.Join(b.effects.Dir, "evidence", "*", "*"))
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v: %s", got, err, r.Outcome)
	}
	if text, err := os.ReadFile(got[0]); err != nil || string(text) != "step 1 loss=2\n" {
		t.Errorf("%q, %v", text, err)
	}
	b.refused(gate.Proposal{Target: "", Action: gate.FetchEvidence}, "bad_target")
}

func TestWhatIsNoActionIsNotDone(t *testing.T) {
	b := newBench(t, &effect.Effects{})
	b.refused(gate.Proposal{Target: "pid:1", Action: "format_disk"}, "no_such_action")
	if _, err := b.effects.Do(t.Context(), gate.Permit{}); err == nil {
		t.Error("a permit that nobody gave is taken")
	}
}
