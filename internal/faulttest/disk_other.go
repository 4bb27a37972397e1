//go:build !linux

package faulttest

import "testing"

// SmallDisk is a disk of its own of so many bytes: here a test that needs one is
// skipped.
func SmallDisk(t testing.TB, _ int) string {
	t.Helper()
	t.Skip("a disk that is full is made on Linux only")
	return ""
}

// ReadOnly lets nobody write to a disk of SmallDisk any more.
func ReadOnly(testing.TB, string) {}
