package kernel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/shell"
)

// machine answers dmesg and journalctl.
type machine struct {
	dmesg, journal       string
	dmesgErr, journalErr error
	uptime               string
	asked                []string
}

func (m *machine) Host() string { return "" }

func (m *machine) Run(ctx context.Context, argv ...string) ([]byte, error) {
	m.asked = append(m.asked, strings.Join(argv, " "))
	switch argv[0] {
	case "cat":
		return []byte(m.uptime), nil
	case "dmesg":
		return []byte(m.dmesg), m.dmesgErr
	}
	return []byte(m.journal), m.journalErr
}

func refused(program, words string) error {
	return &shell.Failed{Program: program, Status: 1, Stderr: words + "\n"}
}

func TestSince(t *testing.T) {
	missing := fmt.Errorf("shell: %w", shell.ErrNoProgram)
	now := time.Now()
	hour := now.Add(-time.Hour)
	late := fmt.Sprintf("%d.000123 node7 kernel: nfs: server a not responding\n", now.Add(-time.Minute).Unix())
	for name, c := range map[string]struct {
		m    machine
		want []string
		err  string
	}{
		"the ring buffer from the start of the machine": {
			machine{dmesg: "[    0.000000] Linux version 6.1\n[  100.5] old\n[82900.000001] new\n[82900.000002][ T1234] newer\n"}, []string{"new", "newer"}, "",
		},
		"a busybox without levels":                 {machine{dmesg: "<6>[    0.0] Linux\n<3>[86300.1] new\r\n"}, []string{"new"}, ""},
		"a ring buffer that lost its beginning":    {machine{dmesg: "[86399.0] only this\n", journal: late}, []string{"nfs: server a not responding"}, ""},
		"and no journal":                           {machine{dmesg: "[86399.0] only this\n", journalErr: missing}, []string{"only this"}, ""},
		"dmesg refused and a journal":              {machine{dmesgErr: refused("dmesg", "dmesg: read kernel buffer failed: Operation not permitted"), journal: late}, []string{"nfs: server a not responding"}, ""},
		"both refused":                             {machine{dmesgErr: refused("dmesg", "dmesg: read kernel buffer failed: Operation not permitted"), journalErr: refused("journalctl", "No journal files were opened due to insufficient permissions.")}, nil, "dmesg: read kernel buffer failed: Operation not permitted"},
		"a journal that this user sees nothing of": {machine{dmesgErr: refused("dmesg", "dmesg: klogctl: Operation not permitted")}, nil, "dmesg: klogctl: Operation not permitted"},
		"neither":                       {machine{dmesgErr: missing, journalErr: missing}, nil, ErrNone.Error()},
		"a kernel that writes no times": {machine{dmesg: "Out of memory: Killed process 1 (x)\n", journalErr: missing}, nil, ""},
		"a machine without dmesg and a quiet kernel": {machine{dmesgErr: missing}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.m.uptime = "86400.25 1.0\n"
			got, err := (&Reader{Shell: &c.m}).Since(t.Context(), hour)
			if fmt.Sprint(err) != c.err && (err != nil || c.err != "") {
				t.Errorf("error %v, want %q", err, c.err)
			}
			var texts []string
			for _, m := range got {
				texts = append(texts, m.Text)
			}
			if diff := cmp.Diff(c.want, texts); diff != "" {
				t.Error(diff)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (&Reader{Shell: shell.Local}).Since(ctx, hour); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
}

func TestThisMachine(t *testing.T) {
	all, err := (&Reader{Shell: shell.Local}).Since(t.Context(), time.Unix(0, 0))
	if err != nil {
		t.Skipf("the kernel's messages may not be read here: %v", err)
	}
	for _, m := range all {
		if m.At.After(time.Now().Add(time.Minute)) || m.At.Year() < 2000 {
			t.Errorf("%s", m)
		}
	}
}

const killed = `python3 invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0
CPU: 1 PID: 12551 Comm: python3 Not tainted 6.1
oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/x,task_memcg=/x,task=python3,pid=12551,uid=0
Memory cgroup out of memory: Killed process 12551 (python3) total-vm:49460kB, anon-rss:38784kB
oom_reaper: reaped process 12551 (python3), now anon-rss:0kB
`

func TestWhatConcernsARun(t *testing.T) {
	ours := Concern{PIDs: map[int]bool{12551: true}, Cgroup: "/x", Buses: []string{"0000:3b:00.0"}, Disks: []string{"/dev/nvme0n1p2"}}
	for name, c := range map[string]struct {
		concern Concern
		text    string
		want    int // lines that are kept
	}{
		"a kill of the run":             {ours, killed, 3},
		"a kill in its cgroup":          {Concern{Cgroup: "/x"}, killed, 3},
		"a kill of another":             {Concern{PIDs: map[int]bool{1: true}, Cgroup: "/"}, killed, 0},
		"a global kill":                 {ours, "Out of memory: Killed process 12551 (python) total-vm:1kB", 1},
		"its GPU":                       {ours, "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, name=python3, GPU has fallen off the bus.", 1},
		"another GPU":                   {ours, "NVRM: Xid (PCI:0000:5d:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.", 0},
		"a GPU, its own not known":      {Concern{}, "NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.", 1},
		"another's fault on a GPU":      {Concern{PIDs: map[int]bool{7: true}}, "NVRM: Xid (PCI:0000:5d:00): 31, pid=21911, name=python, Ch 00000008", 0},
		"its own fault on a GPU":        {Concern{PIDs: map[int]bool{21911: true}}, "NVRM: Xid (PCI:0000:5d:00): 31, pid=21911, name=python, Ch 00000008", 1},
		"a GPU in the driver's words":   {ours, "NVRM: GPU at PCI:0000:3b:00: GPU-1 has fallen off the bus\nNVRM: GPU 0000:5d:00.0: RmInitAdapter failed!", 1},
		"a fault of its process":        {ours, "python3[12551]: segfault at 0 ip 00007f sp 00007f error 4 in libtorch.so", 1},
		"a fault of another":            {ours, "chrome[99]: segfault at 0 ip 00007f", 0},
		"its disk":                      {ours, "blk_update_request: I/O error, dev nvme0n1, sector 123\nEXT4-fs error (device nvme0n1p2): ext4_find_entry", 2},
		"another disk":                  {ours, "I/O error, dev sda, sector 123 op 0x0:(READ)", 0},
		"a disk behind a volume":        {Concern{Disks: []string{"/dev/mapper/vg-data"}}, "I/O error, dev sda, sector 123", 1},
		"a file server":                 {ours, "nfs: server 10.0.0.1 not responding, still trying", 1},
		"what is of no interest":        {ours, "docker0: port 1(veth1) entered blocking state\nusb 1-1: new device", 0},
		"a memory error of the machine": {ours, "EDAC MC0: 1 UE memory read error on CPU_SrcID#0\nEDAC MC0: 1 CE memory read error", 1},
	} {
		t.Run(name, func(t *testing.T) {
			var all []Message
			for line := range strings.Lines(c.text) {
				all = append(all, Message{Text: strings.TrimSpace(line)})
			}
			if got := c.concern.Keep(all); len(got) != c.want {
				t.Errorf("want %d lines, got %v", c.want, got)
			}
		})
	}
}

func FuzzMessages(f *testing.F) {
	f.Add([]byte("[1.5] "+killed), []byte("1700000000.123456 host kernel: x"))
	f.Fuzz(func(t *testing.T, ring, journal []byte) {
		all := append(readRing(ring, time.Unix(0, 0)), readJournal(journal)...)
		for _, m := range all {
			if strings.ContainsAny(m.Text, "\n") {
				t.Errorf("%q", m.Text)
			}
		}
		if kept := (Concern{PIDs: map[int]bool{1: true}}).Keep(all); len(kept) > 2*len(all) {
			t.Errorf("%d of %d", len(kept), len(all))
		}
	})
}
