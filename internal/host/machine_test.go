package host_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/host"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
)

// box is a machine with two GPUs, whose programs print what real ones do.
type box struct {
	gpus, apps, dmesg string
	refuse            bool // dmesg and journalctl may not be read
	gone              string
}

func (b *box) Host() string { return "me@box" }

func (b *box) Run(ctx context.Context, argv ...string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	switch {
	case argv[0] == "nvidia-smi" && b.gpus == "":
		return nil, fmt.Errorf("shell: nvidia-smi: %w", shell.ErrNoProgram)
	case argv[0] == "nvidia-smi" && strings.HasPrefix(argv[1], "--query-gpu"):
		return []byte("index, uuid, pci.bus_id, name, utilization.gpu [%], memory.used [MiB], memory.total [MiB], temperature.gpu, power.draw [W], ecc.errors.uncorrected.volatile.total, pstate, mig.mode.current\n" + b.gpus), nil
	case argv[0] == "nvidia-smi":
		return []byte(b.apps), nil
	case argv[0] == "kill" && argv[2] == b.gone:
		return nil, &shell.Failed{Program: "kill", Status: 1, Stderr: "kill: (" + b.gone + "): No such process"}
	case argv[0] == "kill":
		return nil, &shell.Failed{Program: "kill", Status: 1, Stderr: "kill: (" + argv[2] + "): Operation not permitted"}
	case argv[0] == "cat":
		return []byte("1000.00 900.0\n"), nil
	case argv[0] == "dmesg" && b.refuse:
		return nil, &shell.Failed{Program: "dmesg", Status: 1, Stderr: "dmesg: read kernel buffer failed: Operation not permitted\n"}
	case argv[0] == "dmesg":
		return []byte("[    0.000000] Linux version 6.1\n" + b.dmesg), nil
	}
	return nil, fmt.Errorf("shell: %s: %w", argv[0], shell.ErrNoProgram)
}

const twoGPUs = `0, GPU-aa, 00000000:3B:00.0, NVIDIA A100-SXM4-40GB, 97 %, 40100 MiB, 40960 MiB, 60, 300.00 W, 0, P0, Disabled
1, GPU-bb, 00000000:5D:00.0, NVIDIA A100-SXM4-40GB, 12 %, 9000 MiB, 40960 MiB, 40, 90.00 W, 0, P0, Disabled
`

func gpuFacts(obs run.Observation) string {
	var b strings.Builder
	for _, f := range obs.Facts {
		if strings.HasSuffix(f.Key, run.GPUForeign) || strings.HasSuffix(f.Key, run.GPUStranger) || strings.HasSuffix(f.Key, run.GPUOthers) {
			fmt.Fprintf(&b, "%s = %s\n", f.Key, f.Value)
		}
	}
	return b.String()
}

func TestWhoHoldsTheGPU(t *testing.T) {
	apps := "GPU-aa, 100, 12000 MiB, python\nGPU-aa, 4021, 28000 MiB, /home/other/bin/python\nGPU-bb, 4022, 9000 MiB, ollama\n"
	for name, c := range map[string]struct {
		box  box
		run  host.Run
		want string
	}{
		"another beside the run":                     {box{gpus: twoGPUs, apps: apps}, host.Run{PIDs: []int{100}}, "gpu.0.foreign_memory_mib = 28000\ngpu.0.foreign_process = 4021 /home/other/bin/python\ngpu.1.others = true\n"},
		"the environment names the device":           {box{gpus: twoGPUs, apps: apps}, host.Run{PIDs: []int{7}, Visible: "1"}, "gpu.0.others = true\ngpu.1.foreign_memory_mib = 9000\ngpu.1.foreign_process = 4022 ollama\n"},
		"or its identity":                            {box{gpus: twoGPUs, apps: apps}, host.Run{PIDs: []int{7}, Visible: "GPU-bb"}, "gpu.0.others = true\ngpu.1.foreign_memory_mib = 9000\ngpu.1.foreign_process = 4022 ollama\n"},
		"nothing tells which device is the run's":    {box{gpus: twoGPUs, apps: apps}, host.Run{PIDs: []int{7}}, ""},
		"the driver's PIDs are another name space's": {box{gpus: twoGPUs, apps: apps, gone: "4021"}, host.Run{PIDs: []int{100}}, "gpu.0.foreign_memory_mib = 0\ngpu.1.others = true\n"},
		"the run's processes are not known":          {box{gpus: twoGPUs, apps: apps}, host.Run{Visible: "0"}, "gpu.1.others = true\n"},
	} {
		t.Run(name, func(t *testing.T) {
			obs := host.On(&c.box).Look(t.Context(), c.run, nil)
			if diff := cmp.Diff(c.want, gpuFacts(obs)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func read(t *testing.T, obs run.Observation) string {
	t.Helper()
	var b strings.Builder
	for _, s := range obs.Streams {
		r, err := s.Open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(r)
		fmt.Fprintf(&b, "%s from %d line %d: %d lines\n", s.Name, s.Offset, s.FirstLine, strings.Count(string(text), "\n"))
	}
	return b.String()
}

func TestKernelMessages(t *testing.T) {
	b := &box{dmesg: "[  990.000000] Memory cgroup out of memory: Killed process 100 (python3) total-vm:1kB\n[  991.000000] Memory cgroup out of memory: Killed process 55 (python3) total-vm:1kB\n"}
	m := host.On(b)
	r := host.Run{PIDs: []int{100}, Started: time.Now().Add(-time.Minute), Urgent: true}
	obs := m.Look(t.Context(), r, nil)
	if got := read(t, obs); got != "dmesg from 0 line 1: 1 lines\n" || obs.Streams[0].Kind != "dmesg" {
		t.Errorf("got %q", got)
	}
	first := obs.Streams[0].Size
	b.dmesg += "[  995.000000] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n"
	r.PIDs = nil // it is gone, and its PIDs are remembered
	b.dmesg += "[  996.000000] python3[100]: segfault at 0 ip 0\n"
	obs = m.Look(t.Context(), r, obs.Next)
	if got, want := read(t, obs), fmt.Sprintf("dmesg from %d line 2: 2 lines\n", first); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if obs = m.Look(t.Context(), r, obs.Next); len(obs.Streams) > 0 {
		t.Errorf("told again: %q", read(t, obs))
	}
	r.Urgent = false
	b.dmesg += "[  997.000000] python3[100]: segfault at 1 ip 0\n"
	if obs = m.Look(t.Context(), r, obs.Next); len(obs.Streams) > 0 {
		t.Error("the kernel was asked within a minute though nothing had happened")
	}
}

func TestWhatMayNotBeSeen(t *testing.T) {
	r := host.Run{Started: time.Now().Add(-time.Minute)}
	obs := host.On(&box{refuse: true}).Look(t.Context(), r, nil)
	if len(obs.Gaps) != 1 || !strings.Contains(obs.Gaps[0].Why, "not permitted") || !strings.Contains(obs.Gaps[0].Ask, "sudo dmesg -T") {
		t.Errorf("%+v", obs.Gaps)
	}
	lost := strings.Replace(twoGPUs, "97 %, 40100 MiB", "[GPU is lost], 0 MiB", 1)
	sick := &box{gpus: lost}
	m := host.On(sick)
	obs = m.Look(t.Context(), r, nil)
	if got := read(t, obs); got != "nvidia-smi from 0 line 1: 1 lines\n" {
		t.Errorf("got %q", got)
	}
	if obs = m.Look(t.Context(), r, obs.Next); len(obs.Streams) > 0 {
		t.Error("told again")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if obs = host.On(sick).Look(ctx, r, nil); len(obs.Gaps)+len(obs.Facts)+len(obs.Streams) > 0 {
		t.Errorf("a cancelled look tells %+v", obs)
	}
}
