//go:build unix

package slurm_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/file"
	"github.com/trainmedic/trainmedic/internal/source/slurm"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

// cluster starts a real SLURM of one node: munged, slurmctld and slurmd, with
// files and ports of their own, and returns its folder. Its programs are those
// that the test's PATH finds, by SLURM_CONF.
func cluster(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a SLURM")
	}
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	for _, p := range []string{"munged", "slurmctld", "slurmd", "sbatch", "scontrol"} {
		if _, err := exec.LookPath(p); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("%s is not installed (Debian: slurm-wlm, munge)", p)
			}
			t.Skipf("%s is not installed (Debian: slurm-wlm, munge)", p)
		}
	}
	dir, err := os.MkdirTemp("", "slurm") // the path of a socket may not be long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	for _, d := range []string{"state", "spool"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "munge.key"), strings.Repeat("0123456789abcdef", 64), 0o400)
	conf := fmt.Sprintf(`ClusterName=test
SlurmctldHost=%[1]s(127.0.0.1)
SlurmctldPort=%[2]d
SlurmdPort=%[3]d
SlurmUser=%[4]s
SlurmdUser=%[4]s
AuthType=auth/munge
AuthInfo=socket=%[5]s/munge.sock
CredType=cred/munge
StateSaveLocation=%[5]s/state
SlurmdSpoolDir=%[5]s/spool
SlurmctldPidFile=%[5]s/slurmctld.pid
SlurmdPidFile=%[5]s/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
AccountingStorageType=accounting_storage/none
MailProg=/bin/true
ReturnToService=2
KillWait=2
SchedulerParameters=sched_interval=2,batch_sched_delay=1
NodeName=%[1]s NodeAddr=127.0.0.1 CPUs=1 RealMemory=100 State=UNKNOWN
PartitionName=main Nodes=%[1]s Default=YES MaxTime=INFINITE State=UP
`, host, freePort(t), freePort(t), me.Username, dir)
	write(t, filepath.Join(dir, "slurm.conf"), conf, 0o600)
	t.Setenv("SLURM_CONF", filepath.Join(dir, "slurm.conf"))
	in := func(name string) string { return filepath.Join(dir, name) }
	daemon(t, dir, "munged", "--foreground", "--force", "--key-file="+in("munge.key"), "--socket="+in("munge.sock"), "--pid-file="+in("munged.pid"), "--log-file="+in("munged.log"), "--seed-file="+in("seed"))
	await(t, dir, func() bool { _, err := os.Stat(in("munge.sock")); return err == nil })
	daemon(t, dir, "slurmctld", "-D", "-c", "-f", in("slurm.conf"))
	daemon(t, dir, "slurmd", "-D", "-f", in("slurm.conf"))
	await(t, dir, func() bool {
		out, _ := exec.Command("sinfo", "-h", "-o", "%t").Output()
		return strings.TrimSpace(string(out)) == "idle"
	})
	return dir
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// daemon starts a program of the cluster, which ends with the test.
func daemon(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	out, err := os.Create(filepath.Join(dir, name+".out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM); cmd.Wait() })
}

// await waits until something is so; what the daemons said is told if it never is.
func await(t *testing.T, dir string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(90 * time.Second); time.Now().Before(until); <-time.After(100 * time.Millisecond) {
		if is() {
			return
		}
	}
	said, _ := filepath.Glob(filepath.Join(dir, "*.out"))
	for _, f := range said {
		b, _ := os.ReadFile(f)
		t.Logf("%s: %s", filepath.Base(f), b[max(0, len(b)-2000):])
	}
	t.Fatal("it did not come so far")
}

// submit gives a script to sbatch and returns the job's number.
func submit(t *testing.T, dir, script string, args ...string) string {
	t.Helper()
	path := filepath.Join(dir, "job.sh")
	write(t, path, "#!/bin/bash\n"+script, 0o755)
	cmd := exec.Command("sbatch", append(append([]string{"--parsable", "--chdir=" + dir}, args...), path)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("sbatch: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// until looks at a job until a look says what is waited for, and gives all that
// was told.
func until(t *testing.T, dir string, s source.Source, since run.Cursor, is func(run.Observation) bool) (all string, last run.Observation) {
	t.Helper()
	await(t, dir, func() bool {
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
	dir := cluster(t)
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
		id := submit(t, dir, "echo step 1/9; until [ -e go ]; do sleep 0.1; done; echo step 2/9 >&2; exit 7\n", "--time=5", "--output=out %j.log", "--error=err.log", "--begin=now+2")
		s := open(t, id, true)
		first, obs := until(t, dir, s, nil, func(obs run.Observation) bool { return state(obs) == "RUNNING" })
		if !strings.Contains(first, "is PENDING") || !strings.Contains(first, "the job is PENDING") {
			t.Errorf("while it waits: %s", first)
		}
		if end, err := time.Parse(time.RFC3339, obs.Facts[0].Value); obs.Facts[0].Key != run.FactDeadline || err != nil || time.Until(end) < 4*time.Minute || time.Until(end) > 5*time.Minute {
			t.Errorf("its time ends %+v", obs.Facts[0])
		}
		write(t, filepath.Join(dir, "go"), "", 0o644)
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
		id := submit(t, dir, "echo task $SLURM_ARRAY_TASK_ID; exit $SLURM_ARRAY_TASK_ID\n", "--array=0-1", "--output=a-%A_%a.log")
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
		id := submit(t, dir, "echo attempt ${SLURM_RESTART_COUNT:-0}; until [ -e go ]; do sleep 0.1; done\n", "--requeue", "--output=r.log")
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
