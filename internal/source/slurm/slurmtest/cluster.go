//go:build unix

// Package slurmtest runs a real SLURM of one node for tests: as the user who runs
// the tests, with files and ports of its own.
package slurmtest

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
)

// Start starts a real SLURM of one node: munged, slurmctld and slurmd, with
// files and ports of their own, and returns its folder. Its programs are those
// that the test's PATH finds, by SLURM_CONF.
func Start(t *testing.T) string {
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
	Await(t, dir, func() bool { _, err := os.Stat(in("munge.sock")); return err == nil })
	daemon(t, dir, "slurmctld", "-D", "-c", "-f", in("slurm.conf"))
	daemon(t, dir, "slurmd", "-D", "-f", in("slurm.conf"))
	Await(t, dir, func() bool {
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

// Await waits until something is so; what the daemons said is told if it never is.
func Await(t *testing.T, dir string, is func() bool) {
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

// Submit gives a script to sbatch and returns the job's number.
func Submit(t *testing.T, dir, script string, args ...string) string {
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
