//go:build linux

package effect_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect"
	"github.com/trainmedic/trainmedic/internal/source/process"
)

const waits = "echo ready $RUN_COLOR $EXTRA $1 in $(pwd); while :; do sleep 600; done\n"

func TestARunIsStartedAgainAsItWas(t *testing.T) {
	b := newBench(t, &effect.Effects{})
	j := start(t, "echo ready $RUN_COLOR in $(pwd); while :; do sleep 600; done\n")
	p := gate.Proposal{Run: "w1", Target: j.target(), Action: gate.Restart}
	b.refused(p, "not_remembered")
	b.remember("w1", j.Process.Pid)
	b.refused(p, "still_runs")
	j.kill(t)
	if err := os.Remove(j.log); err != nil { // so that what it says is new
		t.Fatal(err)
	}
	if err := os.WriteFile(j.log, []byte("before\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, out := b.done(p, gate.Allow)
	if out.Run == nil || out.Run.Log() != j.log || r.State != gate.Done || out.Watch != "w1" {
		t.Fatalf("%+v, %+v", r, out)
	}
	j.says(t, "before\nready blue in "+j.dir)
	again := process.Args(out.Run.PID())
	if d := cmp.Diff([]string{"sh", "train.sh"}, again); d != "" {
		t.Error(d)
	}
	text := strings.Join(r.Does, "\n")
	if strings.Contains(text, "a1b2a1b2") || !strings.Contains(text, "sh train.sh") || !strings.Contains(text, j.dir) {
		t.Error(text)
	}
	b.refused(p, "still_runs")
	p.Run = "another name of it"
	b.refused(p, "still_runs")
}

func TestAScriptThatChangedAsksAPerson(t *testing.T) {
	b := newBench(t, &effect.Effects{})
	j := start(t, waits)
	b.remember("w1", j.Process.Pid)
	j.kill(t)
	p := gate.Proposal{Run: "w1", Action: gate.Restart, Principal: "agent"}
	script := filepath.Join(j.dir, "train.sh")
	if err := os.WriteFile(script, []byte("echo pwned\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r, ruling, err := b.Propose(t.Context(), p)
	if err != nil || ruling != gate.Ask || !strings.Contains(r.Changed, "train.sh changed") {
		t.Fatalf("%s %v %+v", ruling, err, r)
	}
	if _, err := b.decider.Decide(gate.Decision{ID: r.ID, Digest: r.Digest, Yes: true}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(script, []byte("echo pwned twice\n"), 0o644); err != nil { // after the person looked
		t.Fatal(err)
	}
	_, _, err = b.Execute(t.Context(), "agent", r.ID, nil)
	if why, ok := errors.AsType[gate.Refusal](err); !ok || why.Kind != "target_changed" {
		t.Errorf("got %v", err)
	}
}

func TestACommandThatWasChangedAsks(t *testing.T) {
	b := newBench(t, &effect.Effects{})
	j := start(t, waits)
	b.remember("w1", j.Process.Pid)
	j.kill(t)
	p := gate.Proposal{Run: "w1", Action: gate.RestartWith}
	for _, bad := range []gate.Args{
		{},
		{Command: []string{""}},
		{Command: []string{"sh", "-c", "echo \u202e"}},
		{Command: []string{"sh", "a\x00b"}},
		{Command: []string{"sh", "a\nb"}},
		{Command: []string{"sh", "\u200b"}},
		{Command: []string{"sh", strings.Repeat("x", 9000)}},
		{Command: slices.Repeat([]string{"x"}, 300)},
		{Command: []string{"sh"}, Env: map[string]string{"A=B": "c"}},
		{Command: []string{"sh"}, Env: map[string]string{"A": "\x1b[2J"}},
	} {
		p.Args = bad
		b.refused(p, "bad_arguments")
	}
	p.Args = gate.Args{Command: []string{"no-such-program-at-all"}}
	b.refused(p, "gone")
	p.Args = gate.Args{Command: []string{"sh", "train.sh", "--resume=$(touch never)"}, Env: map[string]string{"EXTRA": "more", "RUN_COLOR": "red"}}
	r, _ := b.done(p, gate.Ask)
	j.says(t, "ready red more --resume=$(touch never) in "+j.dir)
	text := strings.Join(r.Does, "\n")
	for _, want := range []string{"sh train.sh '--resume=$(touch never)'", "and EXTRA=more", "and RUN_COLOR=red", "instead of: sh train.sh"} {
		if !strings.Contains(text, want) {
			t.Errorf("a person does not see %q in\n%s", want, text)
		}
	}
	if _, err := os.Stat(filepath.Join(j.dir, "never")); err == nil {
		t.Error("a shell has seen the arguments")
	}
}

func TestTheWriterOfALogIsRemembered(t *testing.T) {
	b := newBench(t, &effect.Effects{})
	j := start(t, "echo ready; while :; do sleep 600; done\n")
	b.sees(effect.Seen{Watch: "w1", Log: j.log})
	j.kill(t)
	if _, out := b.done(gate.Proposal{Run: "w1", Target: "file:" + j.log, Action: gate.Restart}, gate.Allow); out.Run.Log() != j.log {
		t.Error(out.Run.Log())
	}
}
