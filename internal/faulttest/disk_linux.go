package faulttest

import (
	"fmt"
	"syscall"
	"testing"
)

// SmallDisk is a disk of its own of so many bytes. The test is skipped where
// this user may not mount one.
func SmallDisk(t testing.TB, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("trainmedic-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", bytes)); err != nil {
		t.Skipf("a disk that is full needs one that may be mounted (root): %v", err)
	}
	t.Cleanup(func() { // before the folder is removed
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount %s: %v", dir, err)
		}
	})
	return dir
}

// ReadOnly lets nobody write to a disk of SmallDisk any more, root neither.
func ReadOnly(t testing.TB, dir string) {
	t.Helper()
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatalf("remount %s: %v", dir, err)
	}
}
