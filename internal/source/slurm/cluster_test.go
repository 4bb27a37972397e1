//go:build unix

package slurm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
	"github.com/trainmedic/trainmedic/internal/source/slurm"
	"github.com/trainmedic/trainmedic/internal/source/slurm/slurmtest"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

// until looks at a job until a look says what is waited for, and gives all that
// was told.
func until(t *testing.T, dir string, s source.Source, since run.Cursor, is func(run.Observation) bool) (all string, last run.Observation) {
	t.Helper()
	slurmtest.Await(t, dir, func() bool {
		obs, err := s.Observe(t.Context(), since)
		if err != nil {
			t.Fatal(err)
		}
		all += told(t, obs, nil)
		since, last = obs.Next, obs
		return is(obs)
	})
	return all, last
}

func state(obs run.Observation) string {
	if obs.Pipeline == nil {
		return ""
	}
	return obs.Pipeline.State
}

func TestCluster(t *testing.T) {
	dir := slurmtest.Start(t)
	k := slurm.Kind(file.Kind(nil), nil, source.Remote{})
	open := func(t *testing.T, id string, watch bool) source.Source {
		s, err := k.Open(t.Context(), id, source.Options{Watch: watch})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	t.Run("a job from its queue to its end", func(t *testing.T) {
		id := slurmtest.Submit(t, dir, "echo step 1/9; until [ -e go ]; do sleep 0.1; done; echo step 2/9 >&2; exit 7\n", "--time=5", "--output=out %j.log", "--error=err.log", "--begin=now+2")
		s := open(t, id, true)
		first, obs := until(t, dir, s, nil, func(obs run.Observation) bool { return state(obs) == "RUNNING" })
		if !strings.Contains(first, "is PENDING") || !strings.Contains(first, "the job is PENDING") {
			t.Errorf("while it waits: %s", first)
		}
		if end, err := time.Parse(time.RFC3339, obs.Facts[0].Value); obs.Facts[0].Key != run.FactDeadline || err != nil || time.Until(end) < 4*time.Minute || time.Until(end) > 5*time.Minute {
			t.Errorf("its time ends %+v", obs.Facts[0])
		}
		if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		rest, _ := until(t, dir, s, obs.Next, func(obs run.Observation) bool { return state(obs) == "FAILED" })
		for _, want := range []string{"step 1/9", "is FAILED exit code 7", "exit.code = 7", "slurm.reason = NonZeroExitCode"} {
			if !strings.Contains(first+rest, want) {
				t.Errorf("%q is not in %s", want, first+rest)
			}
		}
		again := told(t, look(t, open(t, id, false), nil), nil)
		if !strings.Contains(again, "out "+id+".log") || !strings.Contains(again, "step 1/9") || !strings.Contains(again, "step 2/9") || !strings.Contains(again, "err.log") {
			t.Errorf("after its end: %s", again)
		}
		t.Run("is a source", func(t *testing.T) {
			sourcetest.Run(t, func(t *testing.T) source.Source { return open(t, id, false) })
		})
	})
	t.Run("an array", func(t *testing.T) {
		id := slurmtest.Submit(t, dir, "echo task $SLURM_ARRAY_TASK_ID; exit $SLURM_ARRAY_TASK_ID\n", "--array=0-1", "--output=a-%A_%a.log")
		got, _ := until(t, dir, open(t, id, true), nil, func(obs run.Observation) bool { return state(obs) == "FAILED" })
		for _, want := range []string{id + "_0 is COMPLETED", id + "_1 is FAILED exit code 1", "task 0", "task 1"} {
			if !strings.Contains(got, want) {
				t.Errorf("%q is not in %s", want, got)
			}
		}
		if one := told(t, look(t, open(t, id+"_1", false), nil), nil); !strings.Contains(one, "task 1") || strings.Contains(one, "task 0") {
			t.Errorf("one task: %s", one)
		}
	})
	t.Run("cancelled and requeued", func(t *testing.T) {
		os.Remove(filepath.Join(dir, "go"))
		id := slurmtest.Submit(t, dir, "echo attempt ${SLURM_RESTART_COUNT:-0}; until [ -e go ]; do sleep 0.1; done\n", "--requeue", "--output=r.log")
		s := open(t, id, true)
		_, obs := until(t, dir, s, nil, func(obs run.Observation) bool { return state(obs) == "RUNNING" })
		control(t, "requeue", id)
		again, obs := until(t, dir, s, obs.Next, func(obs run.Observation) bool { return state(obs) == "PENDING" })
		if !strings.Contains(again, "slurm.restarts = 1") {
			t.Errorf("requeued: %s", again)
		}
		if out, err := exec.Command("scancel", id).CombinedOutput(); err != nil {
			t.Fatalf("scancel: %v: %s", err, out)
		}
		until(t, dir, s, obs.Next, func(obs run.Observation) bool { return state(obs) == "CANCELLED" })
	})
	t.Run("no such job", func(t *testing.T) {
		_, err := open(t, "999999", false).Observe(t.Context(), nil)
		if err == nil || !strings.Contains(err.Error(), "keeps no accounting") {
			t.Error(err)
		}
	})
}

func look(t *testing.T, s source.Source, since run.Cursor) run.Observation {
	t.Helper()
	obs, err := s.Observe(t.Context(), since)
	if err != nil {
		t.Fatal(err)
	}
	return obs
}

func control(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("scontrol", args...).CombinedOutput(); err != nil {
		t.Fatalf("scontrol %s: %v: %s", strings.Join(args, " "), err, out)
	}
}
