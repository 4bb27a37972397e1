package host

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
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

// TestDFSaysTheSame: over a shell a file system reads as it does here.
func TestDFSaysTheSame(t *testing.T) {
	dir := t.TempDir()
	here := map[string]string{}
	for _, f := range Facts(dir) {
		here[f.Key] = f.Value
	}
	facts := DF(t.Context(), shell.Local, dir, filepath.Join(dir, "not there"))
	if len(facts) < 3 {
		t.Fatalf("df tells %v", facts)
	}
	for _, f := range facts {
		want, ok := here[f.Key]
		if a, b := num(t, f.Value), num(t, want); !ok || strings.HasSuffix(f.Key, run.DiskSize) && a != b || a > 2*b+64<<20 || b > 2*a+64<<20 {
			t.Errorf("%s is %s by df and %s here", f.Key, f.Value, want)
		}
	}
}

func num(t *testing.T, s string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		t.Error(err)
	}
	return n
}

func FuzzDF(f *testing.F) {
	f.Add([]byte("Filesystem 1024-blocks Used Available Capacity Mounted on\n/dev/sda1 100 50 50 50% /data set\nnone - - - - /x\n"))
	f.Fuzz(func(t *testing.T, out []byte) {
		for _, r := range posixRows(out) {
			if len(r) != 6 {
				t.Errorf("%q", r)
			}
		}
	})
}
