//go:build linux

package effect_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect"
	"github.com/trainmedic/trainmedic/internal/source/process"
)

func TestAWholeRunIsEnded(t *testing.T) {
	const stubborn = `trap '' TERM
setsid sh -c 'trap "" TERM; echo far $$ > far; while :; do sleep 1; done' &
while [ ! -s far ]; do sleep 0.05; done
echo ready; while :; do sleep 1; done
`
	b := newBench(t, &effect.Effects{})
	for name, script := range map[string]string{"it goes when asked": waits, "it has to be killed, and one below it that left its group": stubborn} {
		t.Run(name, func(t *testing.T) {
			j := start(t, script)
			r, _ := b.done(gate.Proposal{Target: j.target(), Action: gate.Terminate}, gate.Ask)
			if r.State != gate.Done {
				t.Fatalf("%+v", r)
			}
			<-j.over
			far, _ := os.ReadFile(filepath.Join(j.dir, "far"))
			var pid int
			if n, _ := fmt.Sscan(strings.TrimPrefix(string(far), "far "), &pid); n == 1 {
				if k, err := process.Know(pid); err == nil && k.Lives() {
					syscall.Kill(pid, syscall.SIGKILL)
					t.Errorf("process %d, which left the group, lives: %s", pid, r.Outcome)
				}
			}
			b.refused(gate.Proposal{Target: j.target(), Action: gate.Terminate}, "gone")
		})
	}
}

func TestWhatIsNotEnded(t *testing.T) {
	b := newBench(t, &effect.Effects{})
	for target, kind := range map[string]string{
		"pid:1": "own_process", fmt.Sprintf("pid:%d", os.Getpid()): "own_process", fmt.Sprintf("pid:%d", os.Getppid()): "own_process",
		"pid:0": "gone", "pid:-1": "gone", "pid:999999999": "gone", "file:train.log": "bad_target", "pid:12; rm": "bad_target",
	} {
		b.refused(gate.Proposal{Target: target, Action: gate.Terminate}, kind)
	}
}

func TestAPIDThatWasUsedAgain(t *testing.T) {
	b := newBench(t, &effect.Effects{})
	j := start(t, waits)
	p := gate.Proposal{Target: j.target(), Action: gate.Terminate, Principal: "agent"}
	r, _, err := b.Propose(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.decider.Decide(gate.Decision{ID: r.ID, Digest: r.Digest, Yes: true}); err != nil {
		t.Fatal(err)
	}
	j.kill(t)
	if _, _, err := b.Execute(t.Context(), "agent", r.ID, nil); err == nil {
		t.Error("it was done though its process had gone")
	}
	if k := (process.Known{PID: os.Getpid(), Start: "1"}); k.Lives() {
		t.Error("a PID with another start is taken for the same process")
	}
}
