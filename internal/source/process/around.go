package process

import (
	"context"
	"maps"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/host"
	"github.com/trainmedic/trainmedic/internal/run"
)

// reading tells a quantity: at each look of a watch, else when it changed.
func (l *look) reading(f run.Fact) {
	if l.watch {
		l.obs.Facts = append(l.obs.Facts, f)
		return
	}
	l.fact(f.Key, f.Value)
}

// surroundings are the readings of the cgroup, the disks and the host.
func (l *look) surroundings() {
	if c, ok := l.group(); ok {
		if n, ok := c.number("max"); ok {
			l.fact(run.FactMemoryMax, strconv.FormatInt(n, 10))
		}
		if n, ok := c.kills(); ok {
			l.killed(n)
			l.fact(run.FactOOMKills, strconv.Itoa(n))
		}
		if n, ok := c.number("current"); ok && l.watch {
			l.reading(run.Fact{Key: run.FactMemoryNow, Value: strconv.FormatInt(n, 10)})
		}
	}
	if l.watch {
		if l.cwd != "" {
			l.dirs = append(l.dirs, l.cwd)
		}
		l.obs.Facts = append(l.obs.Facts, host.Facts(l.dirs...)...)
		l.obs.Facts = append(l.obs.Facts, host.Shm()...)
	}
}

// group is the cgroup that the process is or was in.
func (l *look) group() (cgroup, bool) {
	text, ok := l.obs.Next[keyCgroup]
	v1, dir, _ := strings.Cut(text, " ")
	return cgroup{dir: dir, v1: v1 == "true"}, ok
}

// killed tells that the kernel ended processes of the cgroup since the last look.
// Others may share the cgroup: where the run lost none, it was one of theirs.
func (l *look) killed(n int) {
	was, err := strconv.Atoi(l.since["fact "+run.FactOOMKills])
	had, _ := strconv.Atoi(l.since["fact "+run.FactChildren]) // our own words
	if err == nil && n > was && (len(l.all) == 0 || len(l.all)-1 < had) {
		l.event("cgroup: the kernel killed %d of its processes for want of memory (oom_kill %d, limit %s bytes)", n-was, n, orNone(l.obs.Next["fact "+run.FactMemoryMax]))
	}
}

func orNone(s string) string {
	if s == "" {
		return "no"
	}
	return s
}

// around looks at the machine: its GPUs, and what its kernel recorded of the run.
func (l *look) around(ctx context.Context) {
	r := host.Run{PIDs: []int{}, Urgent: len(l.all) == 0 || l.events.Len() > 0, Dirs: l.dirs}
	for _, s := range l.all {
		r.PIDs = append(r.PIDs, s.pid)
	}
	for _, key := range []string{"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"} {
		if v := l.told("env." + key); v != "" {
			r.Visible = v
			break
		}
	}
	r.Started, _ = time.Parse(time.RFC3339, l.told(run.FactStart)) // the zero time when it is not known
	if c, ok := l.group(); ok {
		r.Cgroup = c.path()
	}
	obs := l.machine.Look(ctx, r, l.since)
	for _, f := range obs.Facts {
		l.reading(f)
	}
	l.obs.Streams = append(l.obs.Streams, obs.Streams...)
	l.obs.Gaps = append(l.obs.Gaps, obs.Gaps...)
	maps.Copy(l.obs.Next, obs.Next)
}

// told is the newest value of a fact.
func (l *look) told(key string) string {
	if v, ok := l.obs.Next["fact "+key]; ok {
		return v
	}
	return l.since["fact "+key]
}

// path is the cgroup's name as the kernel's messages have it.
func (c cgroup) path() string {
	p := strings.TrimPrefix(c.dir, cgroupfs)
	if c.v1 {
		p = strings.TrimPrefix(p, "/memory")
	}
	return p
}

// limits are what the system lets the process have, as ulimit -a names it.
func (l *look) limits(pid int) {
	b, err := os.ReadFile(procFile(pid, "limits"))
	if err != nil {
		return
	}
	for line := range strings.Lines(string(b)) {
		if len(line) < 46 { // names take 26 columns, soft limits 21
			continue
		}
		name, soft := strings.TrimSpace(line[:26]), strings.TrimSpace(line[26:46])
		if name, ok := strings.CutPrefix(name, "Max "); ok {
			l.fact(run.Ulimit+strings.ReplaceAll(name, " ", "_"), soft)
		}
	}
	if fds, err := os.ReadDir(procFile(pid, "fd")); err == nil {
		l.fact(run.FactOpenFiles, strconv.Itoa(len(fds)))
	}
}
