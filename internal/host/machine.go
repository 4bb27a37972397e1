package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v3/process"

	"github.com/trainmedic/trainmedic/internal/gpu"
	"github.com/trainmedic/trainmedic/internal/kernel"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
)

// Machine is the machine that a run is on: its GPUs and what its kernel records.
// It remembers which programs answer, so keep it from look to look.
type Machine struct {
	shell  shell.Shell
	gpus   gpu.Reader
	kernel kernel.Reader
	silent error // why the kernel's messages are not to be had
}

// On is the machine that a shell reaches.
func On(sh shell.Shell) *Machine {
	return &Machine{shell: sh, gpus: gpu.Reader{Shell: sh}, kernel: kernel.Reader{Shell: sh}}
}

// Run is what a source knows of the run on a machine.
type Run struct {
	PIDs    []int // its processes that live; nil when they are not known
	Started time.Time
	Visible string   // CUDA_VISIBLE_DEVICES or its like, "" when it is not set
	Cgroup  string   // the path of its cgroup
	Dirs    []string // where it writes, on this machine
	Urgent  bool     // something happened: ask the kernel at once
}

// Keys of the cursor.
const (
	keyPIDs   = "host pids"   // all that the run had
	keyOwn    = "host gpus"   // the devices that it was seen on
	keyBuses  = "host buses"  // and their PCI addresses
	keyKernel = "host kernel" // of the messages given: when the last one was, bytes, lines
	keyAsked  = "host asked"  // when the kernel was asked
)

const (
	maxPIDs     = 4096
	askKernel   = time.Minute
	maxMessages = 2000 // lines of one look
)

// Look reads the GPUs and the kernel's messages: facts, streams, gaps and, in
// Next, what the next look has to know.
func (m *Machine) Look(ctx context.Context, r Run, since run.Cursor) run.Observation {
	l := &look{Machine: m, run: r, since: since, obs: run.Observation{At: time.Now(), Next: run.Cursor{}}}
	for k, v := range since {
		if strings.HasPrefix(k, "host ") {
			l.obs.Next[k] = v
		}
	}
	l.remember()
	l.devices(ctx)
	l.messages(ctx)
	return l.obs
}

type look struct {
	*Machine
	run   Run
	since run.Cursor
	obs   run.Observation
	pids  map[int]bool
}

func (l *look) fact(key, value string) {
	l.obs.Facts = append(l.obs.Facts, run.Fact{Key: key, Value: value})
}

func (l *look) gap(what, why, ask string) {
	l.obs.Gaps = append(l.obs.Gaps, run.Gap{What: what, Why: why, Ask: ask})
}

// remember keeps the PIDs of processes that have ended: the kernel tells of them
// afterwards.
func (l *look) remember() {
	l.pids = map[int]bool{}
	for f := range strings.FieldsSeq(l.since[keyPIDs]) {
		if n, err := strconv.Atoi(f); err == nil {
			l.pids[n] = true
		}
	}
	if len(l.pids) >= maxPIDs {
		clear(l.pids)
	}
	for _, p := range l.run.PIDs {
		l.pids[p] = true
	}
	l.obs.Next[keyPIDs] = list(l.pids)
}

func list(set map[int]bool) string {
	return strings.Trim(fmt.Sprint(slices.Sorted(maps.Keys(set))), "[]")
}

// devices reads the GPUs.
func (l *look) devices(ctx context.Context) {
	seen, err := l.gpus.Look(ctx)
	var faults []string
	switch {
	case errors.Is(err, gpu.ErrNone), ctx.Err() != nil:
		return
	case err != nil:
		l.gap("the GPUs", err.Error(), "what nvidia-smi -q says on the machine of the run (or rocm-smi); a driver that does not answer needs a restart of the machine")
		faults = append(faults, err.Error())
	}
	own := l.own(seen)
	var buses []string
	for _, d := range seen.Devices {
		if own[d.Index] {
			buses = append(buses, d.Bus)
		}
	}
	if len(buses) > 0 {
		l.obs.Next[keyBuses] = strings.Join(buses, " ")
	}
	l.obs.Facts = append(l.obs.Facts, seen.Facts()...)
	for _, d := range seen.Devices {
		if len(own) > 0 && !own[d.Index] {
			l.fact(gpu.Key(d.Index, run.GPUOthers), "true")
		} else if len(own) > 0 || len(seen.Devices) == 1 {
			l.foreign(ctx, d, seen.Processes)
		}
		if d.Fault != "" && (len(own) == 0 || own[d.Index]) {
			faults = append(faults, fmt.Sprintf("GPU %d (%s): %s", d.Index, d.Bus, d.Fault))
		}
	}
	l.told("nvidia-smi", faults)
}

// own are the devices that the run uses: those that it was seen on at this look
// or before, and those that its environment names. None where neither tells.
func (l *look) own(s gpu.Seen) map[int]bool {
	own := map[int]bool{}
	for f := range strings.FieldsSeq(l.since[keyOwn]) {
		if n, err := strconv.Atoi(f); err == nil {
			own[n] = true
		}
	}
	for _, p := range s.Processes {
		if slices.Contains(l.run.PIDs, p.PID) {
			own[p.Device] = true
		}
	}
	for v := range strings.SplitSeq(l.run.Visible, ",") {
		v = strings.TrimSpace(v)
		for _, d := range s.Devices {
			if v == strconv.Itoa(d.Index) || v != "" && strings.HasPrefix(d.UUID, v) {
				own[d.Index] = true
			}
		}
	}
	if len(own) > 0 {
		l.obs.Next[keyOwn] = list(own)
	}
	return own
}

// foreign tells how much of a device's memory processes hold that are not of the
// run. In a container the driver's PIDs are those of the host, and none of them
// can be told apart: only a process that is there by its PID counts.
func (l *look) foreign(ctx context.Context, d gpu.Device, all []gpu.Process) {
	if l.run.PIDs == nil {
		return
	}
	var held, most int64
	who := ""
	for _, p := range all {
		if p.Device != d.Index || p.MiB <= 0 || l.pids[p.PID] || !l.exists(ctx, p.PID) {
			continue
		}
		held += p.MiB
		if p.MiB > most {
			most, who = p.MiB, strings.TrimSpace(strconv.Itoa(p.PID)+" "+p.Name)
		}
	}
	l.fact(gpu.Key(d.Index, run.GPUForeign), strconv.FormatInt(held, 10))
	if who != "" {
		l.fact(gpu.Key(d.Index, run.GPUStranger), who)
	}
}

func (l *look) exists(ctx context.Context, pid int) bool {
	if l.shell == shell.Local {
		there, _ := process.PidExists(int32(pid)) // what cannot be had is not there
		return there
	}
	_, err := l.shell.Run(ctx, "kill", "-0", strconv.Itoa(pid))
	var failed *shell.Failed
	return err == nil || errors.As(err, &failed) && strings.Contains(strings.ToLower(failed.Stderr), "not permitted")
}
