// Package faulttest gives tests the faults that a machine has: a disk that is
// full, one that is read-only. They are real ones, so a test that needs them is
// skipped where nobody may mount.
package faulttest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// Fill takes all the room that is left below dir. What it returns gives the room
// back.
func Fill(t testing.TB, dir string) (free func()) {
	t.Helper()
	f, err := os.CreateTemp(dir, "full-*")
	if err != nil {
		t.Fatal(err)
	}
	for size := 1 << 16; size > 0; {
		if _, err = f.Write(make([]byte, size)); errors.Is(err, syscall.ENOSPC) {
			size /= 2
		} else if err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	return func() {
		if err := os.Remove(filepath.Join(dir, filepath.Base(f.Name()))); err != nil {
			t.Fatal(err)
		}
	}
}
