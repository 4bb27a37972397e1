package all_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/all"
)

// machine is a PATH with the programs named, each a script, and an empty home.
func machine(t *testing.T, scripts map[string]string) string {
	t.Helper()
	bin, home := t.TempDir(), t.TempDir()
	for name, body := range scripts {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	t.Setenv("HOME", home)
	for _, v := range []string{"SSH_AUTH_SOCK", "GOOGLE_APPLICATION_CREDENTIALS", "CLOUDSDK_CONFIG", "WANDB_API_KEY", "NETRC", "MLFLOW_TRACKING_URI"} {
		t.Setenv(v, "")
	}
	t.Chdir(home)
	return home
}

func states(checks []source.Check) map[string]source.CheckState {
	out := map[string]source.CheckState{}
	for _, c := range checks {
		out[c.Name] = c.State
	}
	return out
}

func doctor(t *testing.T, limit time.Duration) []source.Check {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	checks := all.Doctor(ctx)
	for _, c := range checks {
		if c.Name == "" || c.Seen == "" || (c.State == source.CheckOK) != (c.Fix == "") {
			t.Errorf("an incomplete check: %+v", c)
		}
	}
	return checks
}

func TestDoctorOnABareMachine(t *testing.T) {
	machine(t, nil)
	got := states(doctor(t, 10*time.Second))
	want := map[string]source.CheckState{
		"GPU": "missing", "dmesg": "missing", "py-spy": "missing", "slurm": "missing", "ssh": "missing", "gcloud": "missing", "wandb": "missing", "mlflow": "missing",
	}
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		want["GPU"] = got["GPU"]
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDoctorWhereAllIsThere(t *testing.T) {
	home := machine(t, map[string]string{
		"ssh": "", "gcloud": "", "py-spy": "",
		"cat":      "echo 1000.0 1.0",
		"dmesg":    "echo '[    0.000000] Linux version 6.1'",
		"scontrol": "echo 'Slurmctld(primary) at login is UP'",
		"sacct":    "echo 'JobID|JobName'",
	})
	for path, text := range map[string]string{
		".ssh/id_ed25519": "", ".config/gcloud/application_default_credentials.json": "{}", ".netrc": "machine api.wandb.ai\n  login user\n  password x\n", "mlruns/0": "",
	} {
		os.MkdirAll(filepath.Dir(filepath.Join(home, path)), 0o700)
		if err := os.WriteFile(filepath.Join(home, path), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got := states(doctor(t, 10*time.Second))
	for _, name := range []string{"dmesg", "slurm", "ssh", "gcloud", "wandb", "mlflow"} {
		if got[name] != source.CheckOK {
			t.Errorf("%s is %s", name, got[name])
		}
	}
}

// TestDoctorDoesNotHang: programs that never answer cost no more than the time
// that there is.
func TestDoctorDoesNotHang(t *testing.T) {
	sleep := "exec /bin/sleep 600"
	machine(t, map[string]string{"nvidia-smi": sleep, "cat": sleep, "dmesg": sleep, "journalctl": sleep, "scontrol": sleep, "sacct": sleep})
	start := time.Now()
	checks := doctor(t, 500*time.Millisecond)
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("it took %s", took)
	}
	for _, c := range checks {
		if c.Name == "slurm" && c.State == source.CheckOK || c.Name == "dmesg" && c.State == source.CheckOK {
			t.Errorf("%+v", c)
		}
	}
}

func TestDoctorTellsNoPassword(t *testing.T) {
	machine(t, nil)
	t.Setenv("MLFLOW_TRACKING_URI", "https://me:s3cret@mlflow.example.com")
	for _, c := range doctor(t, 10*time.Second) {
		if strings.Contains(c.Seen+c.Fix, "s3cret") {
			t.Errorf("%+v", c)
		}
	}
}
