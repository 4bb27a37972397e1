// Package host reads what the machine of a run shows beside the run: what is
// left of the file systems that the run writes to and of the memory, the GPUs and
// who else holds them, and what the kernel recorded of the run. What it cannot
// read is left out or a gap; nothing of it is ever the reason that a look fails.
package host

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v3/disk"
	"github.com/shirou/gopsutil/v3/mem"

	"github.com/trainmedic/trainmedic/internal/run"
)

// Facts are the readings of this moment, under the keys that df and free have
// when they are exported (see the run package): for the file system of each path
// its size, what an ordinary user may still write, and the share of bytes and
// inodes in use; and the memory of the host. A path need not exist.
func Facts(paths ...string) []run.Fact {
	var out []run.Fact
	seen := map[string]bool{}
	points := mountPoints()
	for _, p := range paths {
		m := mountOf(points, existing(p))
		if m == "" || seen[m] {
			continue
		}
		seen[m] = true
		out = append(out, diskFacts(m)...)
	}
	return append(out, memory()...)
}

func fact(key string, n uint64) run.Fact {
	return run.Fact{Key: key, Value: strconv.FormatUint(n, 10)}
}

func diskFacts(mount string) []run.Fact {
	u, err := disk.Usage(mount)
	if err != nil || u.Total == 0 {
		return nil
	}
	key := "disk." + mount
	out := []run.Fact{
		fact(key+run.DiskSize, u.Total), fact(key+run.DiskAvail, u.Free),
		{Key: key + run.DiskUsed, Value: percent(u.UsedPercent)},
	}
	if u.InodesTotal > 0 {
		out = append(out, run.Fact{Key: key + run.DiskInodes, Value: percent(u.InodesUsedPercent)})
	}
	return out
}

// Shm are the readings of the memory that processes of a machine share.
func Shm() []run.Fact {
	u, err := disk.Usage("/dev/shm")
	if err != nil || u.Total == 0 {
		return nil
	}
	return []run.Fact{fact(run.FactShmSize, u.Total), fact(run.FactShmAvail, u.Free)}
}

// disks are the devices of the file systems of paths: "/dev/nvme0n1p2".
func disks(paths []string) (out []string) {
	parts, _ := disk.Partitions(true) // what could be listed beside an error counts
	mounts := make([]string, len(parts))
	for i, p := range parts {
		mounts[i] = p.Mountpoint
	}
	for _, p := range paths {
		m := mountOf(mounts, existing(p))
		for _, d := range parts {
			if d.Mountpoint == m && !slices.Contains(out, d.Device) {
				out = append(out, d.Device)
			}
		}
	}
	return out
}

// percent is rounded up, as df does it.
func percent(v float64) string {
	n := int(v)
	if float64(n) < v {
		n++
	}
	return strconv.Itoa(n)
}

func memory() []run.Fact {
	m, err := mem.VirtualMemory()
	if err != nil {
		return nil
	}
	return []run.Fact{fact(run.FactMemoryTotal, m.Total), fact(run.FactMemoryAvailable, m.Available)}
}

// mountsLast is how long a list of mount points is good: many watches ask for it
// at the same time.
const mountsLast = time.Second

var mounts struct {
	sync.Mutex
	at   time.Time
	list []string
}

// mountPoints lists where file systems are mounted, those of containers too.
func mountPoints() []string {
	mounts.Lock()
	defer mounts.Unlock()
	if mounts.list == nil || time.Since(mounts.at) > mountsLast {
		mounts.list, mounts.at = listMounts(), time.Now()
	}
	return mounts.list
}

func listMounts() []string {
	parts, _ := disk.Partitions(true) // what could be listed beside an error counts
	out := make([]string, 0, len(parts))
	for _, p := range parts {
		out = append(out, p.Mountpoint)
	}
	return out
}

// mountOf is the innermost mount that holds a path, "" if none does.
func mountOf(mounts []string, p string) string {
	best := ""
	for _, m := range mounts {
		if len(m) > len(best) && (p == m || strings.HasPrefix(p, strings.TrimSuffix(m, string(filepath.Separator))+string(filepath.Separator))) {
			best = m
		}
	}
	return best
}

// existing is the path without symbolic links, or the nearest folder above it
// that is there.
func existing(p string) string {
	abs, err := filepath.Abs(p)
	if err != nil {
		return p
	}
	for {
		if real, err := filepath.EvalSymlinks(abs); err == nil || !os.IsNotExist(err) {
			return real
		}
		up := filepath.Dir(abs)
		if up == abs {
			return abs
		}
		abs = up
	}
}
