package host

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/trainmedic/trainmedic/internal/run"
)

func TestFacts(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(dir, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	facts := Facts(dir, filepath.Join(dir, "link", "not", "there"))
	mount := mountOf(mountPoints(), existing(dir))
	got := map[string]int64{}
	for _, f := range facts {
		n, err := strconv.ParseInt(f.Value, 10, 64)
		if _, twice := got[f.Key]; err != nil || twice || f.From != (run.Ref{}) {
			t.Errorf("%+v: %v", f, err)
		}
		got[f.Key] = n
	}
	for _, key := range []string{"disk." + mount + run.DiskSize, "disk." + mount + run.DiskAvail, run.FactMemoryTotal, run.FactMemoryAvailable} {
		if got[key] <= 0 {
			t.Errorf("%s is %d; %v", key, got[key], facts)
		}
	}
	if got["disk."+mount+run.DiskAvail] > got["disk."+mount+run.DiskSize] {
		t.Error("more is free than there is")
	}
}

func TestMountOf(t *testing.T) {
	mounts := []string{"/", "/data", "/data/runs", "/dev/shm"}
	for p, want := range map[string]string{"/home/x": "/", "/data": "/data", "/database/x": "/", "/data/runs/1/log": "/data/runs", "/dev/shm/a": "/dev/shm"} {
		if got := mountOf(mounts, p); got != want {
			t.Errorf("%s: %s, want %s", p, got, want)
		}
	}
}
