package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/gpu"
	"github.com/trainmedic/trainmedic/internal/kernel"
	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
)

// doctor says what can be seen of processes and of the machine that they are on.
func doctor(ctx context.Context) []source.Check {
	return source.Examine(ctx,
		source.Probe{Name: "GPU", Run: seeGPUs},
		source.Probe{Name: "dmesg", Run: seeKernel},
		source.Probe{Name: "py-spy", Run: seeStacks},
	)
}

func seeGPUs(ctx context.Context) source.Check {
	seen, err := (&gpu.Reader{Shell: shell.Local}).Look(ctx)
	switch {
	case errors.Is(err, gpu.ErrNone):
		return source.Check{
			State: source.CheckMissing, Seen: "no GPU: no driver answers NVML, and there is neither nvidia-smi nor rocm-smi",
			Fix: "none on a machine without a GPU; else install the driver so that nvidia-smi lists the device (a container needs --gpus all)",
		}
	case err != nil:
		return source.Check{State: source.CheckLimited, Seen: err.Error(), Fix: "nvidia-smi -q (or rocm-smi) says more; a driver that does not answer needs a restart of the machine"}
	}
	names := map[string]int{}
	var faults []string
	for _, d := range seen.Devices {
		if d.Fault != "" {
			faults = append(faults, fmt.Sprintf("GPU %d: %s", d.Index, d.Fault))
		}
		for _, r := range d.Readings {
			if r.Name == "name" {
				names[r.Value]++
			}
		}
	}
	var models []string
	for name, n := range names {
		models = append(models, fmt.Sprintf("%d x %s", n, name))
	}
	slices.Sort(models)
	c := source.Check{State: source.CheckOK, Seen: strings.Join(models, ", ") + ", by " + seen.By}
	if len(faults) > 0 {
		c.State, c.Seen, c.Fix = source.CheckLimited, c.Seen+"; "+strings.Join(faults, ", "), "move runs off this device, and restart the machine or reset the device"
	}
	return c
}

func seeKernel(ctx context.Context) source.Check {
	all, err := (&kernel.Reader{Shell: shell.Local}).Since(ctx, time.Unix(0, 0))
	switch {
	case errors.Is(err, kernel.ErrNone):
		return source.Check{State: source.CheckMissing, Seen: err.Error(), Fix: "install util-linux (dmesg), or read the log of the node from outside"}
	case err != nil:
		return source.Check{State: source.CheckLimited, Seen: err.Error(), Fix: "sudo sysctl kernel.dmesg_restrict=0, or sudo usermod -aG adm $USER for the journal"}
	}
	return source.Check{State: source.CheckOK, Seen: fmt.Sprintf("%d messages of the kernel can be read", len(all))}
}

func seeStacks(context.Context) source.Check {
	path, err := exec.LookPath("py-spy")
	if err != nil {
		return source.Check{State: source.CheckMissing, Seen: "py-spy is not in the PATH: a run that hangs cannot be asked where", Fix: "pip install py-spy"}
	}
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope") // not there where nothing is restricted
	if s := strings.TrimSpace(string(scope)); s != "" && s != "0" && os.Geteuid() != 0 {
		return source.Check{State: source.CheckLimited, Seen: path + ", but kernel.yama.ptrace_scope is " + s, Fix: "sudo py-spy dump --pid PID, or sudo sysctl kernel.yama.ptrace_scope=0"}
	}
	return source.Check{State: source.CheckOK, Seen: path}
}
