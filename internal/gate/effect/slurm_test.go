//go:build linux

package effect_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect"
	"github.com/trainmedic/trainmedic/internal/source/slurm/slurmtest"
)

// TestARealClusterIsActedUpon cancels and requeues jobs of a real SLURM of one
// node, from its own machine and over SSH.
func TestARealClusterIsActedUpon(t *testing.T) {
	dir := slurmtest.Start(t)
	over, _ := far(t, "SetEnv SLURM_CONF="+os.Getenv("SLURM_CONF")+" PATH="+os.Getenv("PATH"))
	for _, tc := range []struct {
		name, at string
		b        *bench
	}{{"here", "slurm:", newBench(t, &effect.Effects{})}, {"over SSH", "slurm:box:", over}} {
		t.Run(tc.name, func(t *testing.T) {
			tc.b.t = t
			log := filepath.Join(t.TempDir(), "job.log")
			id := slurmtest.Submit(t, dir, "echo attempt ${SLURM_RESTART_COUNT:-0}; while :; do sleep 0.1; done\n", "--requeue", "--output="+log, "--open-mode=append")
			says := func(text string) {
				t.Helper()
				slurmtest.Await(t, dir, func() bool { b, _ := os.ReadFile(log); return strings.Contains(string(b), text) })
			}
			says("attempt 0")
			r, _ := tc.b.done(gate.Proposal{Target: tc.at + id, Action: gate.RequeueSLURM}, gate.Ask)
			if text := strings.Join(r.Does, "\n"); !strings.Contains(text, "scontrol requeue "+id) || !strings.Contains(text, "now RUNNING") {
				t.Error(text)
			}
			soon(t, id) // a requeued job waits two minutes; a person would, too
			says("attempt 1")
			r, _ = tc.b.done(gate.Proposal{Target: tc.at + id, Action: gate.CancelSLURM}, gate.Ask)
			if r.State != gate.Done || !strings.Contains(r.Outcome, "scancel "+id) {
				t.Errorf("%+v", r)
			}
			slurmtest.Await(t, dir, func() bool { return jobState(id) == "CANCELLED" })
			tc.b.refused(gate.Proposal{Target: tc.at + id, Action: gate.CancelSLURM}, "gone")
			if _, ruling, err := tc.b.Propose(t.Context(), gate.Proposal{Target: tc.at + "999999", Action: gate.CancelSLURM}); err == nil || !strings.Contains(err.Error(), "Invalid job id") {
				t.Errorf("no such job: %s, %v", ruling, err)
			}
		})
	}
}

var stateOf = regexp.MustCompile(`JobState=(\w+)`)

func jobState(id string) string {
	out, _ := exec.Command("scontrol", "show", "job", "-o", id).Output()
	if m := stateOf.FindSubmatch(out); m != nil {
		return string(m[1])
	}
	return ""
}

// soon has a requeued job begin in some seconds: slurmd launches none that was
// killed in the same second.
func soon(t *testing.T, id string) {
	t.Helper()
	eventually(t, func() bool {
		return jobState(id) == "PENDING" && exec.Command("scontrol", "update", "JobId="+id, "StartTime=now+3").Run() == nil
	})
}

// programs stand for SLURM's, so that a number can be used again.
func programs(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"scontrol": `echo "scontrol $*" >>` + dir + `/asked
[ "$1" = show ] && echo "JobId=77 JobName=train big UserId=ann(1000) JobState=RUNNING Reason=None SubmitTime=$(cat ` + dir + `/submitted) Command=/home/ann/run.sbatch WorkDir=/home/ann"; true`,
		"scancel": `echo "scancel $*" >>` + dir + `/asked; echo x >` + dir + `/done`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	submitted(t, dir, "2026-11-30T10:00:00")
	return dir
}

func submitted(t *testing.T, dir, at string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "submitted"), []byte(at), 0o600); err != nil {
		t.Fatal(err)
	}
}

// asked is how often a command line was run.
func asked(dir, line string) int {
	b, _ := os.ReadFile(filepath.Join(dir, "asked"))
	return strings.Count(string(b), line+"\n")
}

func TestASLURMJobThatIsAnotherOne(t *testing.T) {
	dir := programs(t)
	b := newBench(t, &effect.Effects{})
	p := gate.Proposal{Target: "slurm:77", Action: gate.CancelSLURM, Principal: "agent"}
	r, _, err := b.Propose(t.Context(), p)
	if err != nil || !strings.Contains(strings.Join(r.Does, "\n"), `"train big" of ann(1000), now RUNNING`) {
		t.Fatalf("%v %v", r.Does, err)
	}
	if _, err := b.decider.Decide(gate.Decision{ID: r.ID, Digest: r.Digest, Yes: true}); err != nil {
		t.Fatal(err)
	}
	submitted(t, dir, "2026-11-30T11:00:00") // the number was used again
	_, _, err = b.Execute(t.Context(), "agent", r.ID, nil)
	if why, ok := errors.AsType[gate.Refusal](err); !ok || why.Kind != "target_changed" || asked(dir, "scancel 77") > 0 {
		t.Errorf("another job was cancelled: %v", err)
	}
	for _, bad := range []string{"slurm:77; rm", "slurm:", "slurm:-u", "slurm:77,78", "pid:7 7", "slurm:box:77; rm", "slurm:-oProxyCommand=x:77"} {
		b.refused(gate.Proposal{Target: bad, Action: gate.CancelSLURM}, "bad_target")
	}
}

func TestACutAfterTheCancel(t *testing.T) {
	dir := programs(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, _ := far(t, "ForceCommand env CUT_AT=scancel CUT_DIR="+dir+" "+self, "SetEnv PATH="+os.Getenv("PATH"))
	said := b.unknown(gate.Proposal{Target: "slurm:box:77", Action: gate.CancelSLURM})
	if n := asked(dir, "scancel 77"); n != 1 || !strings.Contains(said, "the job is RUNNING now") {
		t.Errorf("it was cancelled %d times: %s", n, said)
	}
}
