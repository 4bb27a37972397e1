package main

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

const (
	usualMemory = 1 << 30 // far above what a check or a server with its watches needs
	leastMemory = 64 << 20
)

// limitMemory sets the soft limit of the Go runtime, unless GOMEMLIMIT does: half of
// what the cgroup gives, so that the run beside it is not what is killed, and at most
// usualMemory.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit(os.DirFS("/")))
	}
}

// memoryLimit reads the limits of this process's cgroups below a root directory.
func memoryLimit(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	for line := range strings.Lines(read(root, "proc/self/cgroup")) {
		_, rest, _ := strings.Cut(line, ":")
		controllers, group, _ := strings.Cut(strings.TrimSpace(rest), ":")
		mount, name := "sys/fs/cgroup", "memory.max"
		switch {
		case strings.Contains(","+controllers+",", ",memory,"):
			mount, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case controllers != "":
			continue
		}
		for dir := path.Join("/", group); ; dir = path.Dir(dir) { // each folder above limits too
			if n, err := strconv.ParseInt(read(root, path.Join(mount, dir, name)), 10, 64); err == nil && n > 0 {
				least = min(least, n)
			}
			if dir == "/" {
				break
			}
		}
	}
	return max(leastMemory, min(usualMemory, least/2))
}

// read is a small file without the space around it, "" when it cannot be had.
func read(root fs.FS, name string) string {
	b, err := fs.ReadFile(root, name)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
