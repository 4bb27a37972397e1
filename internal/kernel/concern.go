package kernel

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Concern is what a run is to the kernel: a message that is about another
// process, GPU or disk is not about the run.
type Concern struct {
	PIDs   map[int]bool // all that the run had, as far as they were seen
	Cgroup string       // its path below the root, "" when it has none of its own
	Buses  []string     // PCI addresses of the GPUs that it uses; nil when not known
	Disks  []string     // devices of the file systems that it writes to: "/dev/nvme0n1p2"
}

// about are the messages that tell of a failure, by what names whom they are
// about.
var about = []struct {
	line  *regexp.Regexp
	whose func(c Concern, m []string) bool
}{
	{regexp.MustCompile(`oom-kill:.*task_memcg=([^,]*),.*pid=(\d+)`), func(c Concern, m []string) bool { return c.pid(m[2]) || c.cgroup(m[1]) }},
	{regexp.MustCompile(`[Oo]ut of memory(?: \([^)]*\))?: Kill(?:ed)? process (\d+)`), func(c Concern, m []string) bool { return c.pid(m[1]) }},
	{regexp.MustCompile(`NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): \d+(?:, pid='?(\d+))?`), func(c Concern, m []string) bool { return c.bus(m[1], m[2]) }},
	{regexp.MustCompile(`SXid \(PCI:([0-9a-fA-F:.]+)\)`), func(c Concern, m []string) bool { return true }}, // a switch of all
	{regexp.MustCompile(`NVRM: .*([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})`), func(c Concern, m []string) bool { return c.bus(m[1], "") }},
	{regexp.MustCompile(`amdgpu ([0-9a-f:.]+): .*(?:\*ERROR\*|GPU reset|fault|timeout|RAS|uncorrectable)`), func(c Concern, m []string) bool { return c.bus(m[1], "") }},
	{regexp.MustCompile(`\[(\d+)\]: segfault at|traps: \S+\[(\d+)\] |\[(\d+)\] general protection`), func(c Concern, m []string) bool { return c.pid(m[1] + m[2] + m[3]) }},
	{regexp.MustCompile(`task \S+:(\d+) blocked for more than \d+ seconds`), func(c Concern, m []string) bool { return c.pid(m[1]) }},
	{regexp.MustCompile(`I/O error.*\bdev(?:ice)? ([\w-]+)|(?:EXT4-fs|BTRFS|F2FS-fs)[^(]*error \(device ([\w-]+)|XFS \(([\w-]+)\): .*(?:[Cc]orruption|error|shut)|(nvme\d+)(?:n\d+)?: .*(?:timeout|controller is down|I/O Error)`), func(c Concern, m []string) bool { return c.disk(m[1] + m[2] + m[3] + m[4]) }},
	{regexp.MustCompile(`nfs: server \S+ not responding|Lustre(?:Error)?: .*(?:timed out|evicted|lost)|ceph: .*(?:hung|session lost)`), func(Concern, []string) bool { return true }},
	{regexp.MustCompile(`\[Hardware Error\]|mce: .*[Hh]ardware error|EDAC .*\b(?:UE|uncorrect)`), func(Concern, []string) bool { return true }},
	{regexp.MustCompile(`mlx[45]\w* .*(?:[Ll]ink down|health compromised|fatal)`), func(Concern, []string) bool { return true }},
}

var asks = regexp.MustCompile(`\S+ invoked oom-killer: `)

// Keep are the messages that concern the run. What a process was that wanted the
// memory is kept where the one that was killed for it is the run's.
func (c Concern) Keep(all []Message) (out []Message) {
	var asked *Message
	victim := "" // of the run, whose kill is told in another line
	for i, m := range all {
		if asks.MatchString(m.Text) {
			asked = &all[i]
			continue
		}
		for _, a := range about {
			found := a.line.FindStringSubmatch(m.Text)
			if found == nil {
				continue
			}
			oom := strings.Contains(m.Text, "oom-kill:")
			if a.whose(c, found) || victim != "" && strings.Contains(m.Text, "Killed process "+victim+" ") {
				if asked != nil && oom {
					out = append(out, *asked)
				}
				out = append(out, m)
				if oom {
					victim = found[2]
				}
			}
			break
		}
		if strings.Contains(m.Text, "Killed process") {
			asked = nil
		}
	}
	return out
}

func (c Concern) pid(text string) bool {
	n, err := strconv.Atoi(text)
	return err == nil && c.PIDs[n]
}

// cgroup takes a group that the run has to itself or shares with its session.
func (c Concern) cgroup(path string) bool {
	return len(c.Cgroup) > 1 && (path == c.Cgroup || strings.HasPrefix(path, c.Cgroup+"/"))
}

// bus takes a GPU of the run; where its GPUs are not known, a message that names
// no other process.
func (c Concern) bus(bus, pid string) bool {
	if c.Buses == nil {
		return pid == "" || c.pid(pid)
	}
	bus = strings.ToLower(bus)
	return slices.ContainsFunc(c.Buses, func(b string) bool {
		return len(bus) >= 7 && (strings.HasPrefix(b, bus) || strings.HasPrefix(bus, strings.TrimSuffix(b, ".0")))
	})
}

// disk takes a device that the run's file systems are on, or any where that
// cannot be told: a volume has another name than its disks.
func (c Concern) disk(name string) bool {
	plain := false
	for _, d := range c.Disks {
		base := strings.TrimPrefix(d, "/dev/")
		plain = plain || strings.HasPrefix(base, "sd") || strings.HasPrefix(base, "nvme") || strings.HasPrefix(base, "vd") || strings.HasPrefix(base, "xvd")
		if name != "" && (strings.HasPrefix(base, name) || strings.HasPrefix(name, base)) {
			return true
		}
	}
	return !plain
}
