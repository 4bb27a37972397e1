package main

import (
	"testing"
	"testing/fstest"
)

func TestTheMemoryLimitIsHalfOfTheCgroups(t *testing.T) {
	for _, tc := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"no cgroup", nil, usualMemory},
		{"version 2", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "536870912\n"}, 256 << 20},
		{"version 2, the folder above", map[string]string{"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "536870912\n", "sys/fs/cgroup/a/b/memory.max": "max\n"}, 256 << 20},
		{"version 2, in a container", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 256 << 20},
		{"version 1", map[string]string{"proc/self/cgroup": "5:cpu,cpuacct:/x\n4:memory:/a\n0::/\n", "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "536870912\n"}, 256 << 20},
		{"version 1, no limit", map[string]string{"proc/self/cgroup": "4:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, usualMemory},
		{"hardly any", map[string]string{"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "1048576\n"}, leastMemory},
		{"nonsense", map[string]string{"proc/self/cgroup": "::::\n0::/../../x\n", "sys/fs/cgroup/memory.max": "-5\n"}, usualMemory},
	} {
		root := fstest.MapFS{}
		for name, text := range tc.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryLimit(root); got != tc.want {
			t.Errorf("%s: want %d, got %d", tc.name, tc.want, got)
		}
	}
}
