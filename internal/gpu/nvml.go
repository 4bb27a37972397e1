//go:build cgo && linux

package gpu

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// library is NVML, loaded once and kept. Its calls have no deadline: each look
// runs apart, and while one hangs no other begins.
var library = struct {
	turn    chan struct{} // who may call it
	ready   bool
	useless bool // it lacks what is called here
}{turn: make(chan struct{}, 1)}

// needed are the calls that readNVML makes. A call of a symbol that the driver's
// library lacks ends the whole process, as one after a failed Init does.
var needed = []string{
	"nvmlDeviceGetUUID", "nvmlDeviceGetName", "nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetUtilizationRates", "nvmlDeviceGetMemoryInfo",
	"nvmlDeviceGetTemperature", "nvmlDeviceGetPowerUsage", "nvmlDeviceGetTotalEccErrors", "nvmlDeviceGetMigMode",
	"nvmlDeviceGetComputeRunningProcesses", "nvmlSystemGetProcessName",
}

// byNVML asks NVML; the error is ErrNone where there is none that can be asked.
func byNVML(ctx context.Context, limit time.Duration) (Seen, error) {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case library.turn <- struct{}{}:
	case <-ctx.Done():
		return Seen{}, ctx.Err()
	case <-late.C:
		return Seen{}, fmt.Errorf("gpu: nvml: %w", errHung)
	}
	type answer struct {
		seen Seen
		err  error
	}
	done := make(chan answer, 1)
	go func() {
		seen, err := readNVML()
		<-library.turn
		done <- answer{seen, err}
	}()
	select {
	case a := <-done:
		return a.seen, a.err
	case <-ctx.Done():
		return Seen{}, ctx.Err()
	case <-late.C:
		return Seen{}, fmt.Errorf("gpu: nvml: %w", errHung)
	}
}

func readNVML() (Seen, error) {
	if !library.ready {
		if library.useless || nvml.Init() != nvml.SUCCESS {
			return Seen{}, ErrNone // nothing else of NVML may be called now
		}
		for _, symbol := range needed {
			if nvml.Extensions().LookupSymbol(symbol) != nil {
				library.useless = true
				return Seen{}, ErrNone
			}
		}
		library.ready = true
	}
	n, ret := nvml.DeviceGetCount()
	if ret != nvml.SUCCESS || n == 0 {
		return Seen{}, ErrNone // nvidia-smi says why
	}
	s := Seen{By: "nvml"}
	for i := range n {
		d, ret := nvml.DeviceGetHandleByIndex(i)
		if ret != nvml.SUCCESS {
			s.Devices = append(s.Devices, Device{Index: i, Fault: faultOf(ret)})
			continue
		}
		dev, procs := readHandle(i, d)
		s.Devices = append(s.Devices, dev)
		s.Processes = append(s.Processes, procs...)
	}
	return s, nil
}

// faultOf is what a device that does not answer is told as, in nvidia-smi's words.
func faultOf(ret nvml.Return) string {
	switch ret {
	case nvml.ERROR_GPU_IS_LOST:
		return "GPU is lost"
	case nvml.ERROR_RESET_REQUIRED:
		return "GPU requires reset"
	case nvml.ERROR_UNKNOWN:
		return "Unknown Error"
	}
	return ""
}

func readHandle(index int, h nvml.Device) (Device, []Process) {
	d := Device{Index: index}
	told := func(ret nvml.Return) bool {
		if f := faultOf(ret); f != "" {
			d.Fault = f
		}
		return ret == nvml.SUCCESS
	}
	if v, ret := h.GetUUID(); told(ret) {
		d.UUID = v
	}
	if v, ret := h.GetPciInfo(); told(ret) {
		d.Bus = busOf(fmt.Sprintf("%08x:%02x:%02x.0", v.Domain, v.Bus, v.Device))
	}
	if v, ret := h.GetName(); told(ret) {
		d.set("name", v)
	}
	if v, ret := h.GetUtilizationRates(); told(ret) {
		d.set("utilization", strconv.Itoa(int(v.Gpu)))
	}
	if v, ret := h.GetMemoryInfo(); told(ret) {
		d.set("memory_used_mib", strconv.FormatUint(v.Used>>20, 10))
		d.set("memory_total_mib", strconv.FormatUint(v.Total>>20, 10))
	}
	if v, ret := h.GetTemperature(nvml.TEMPERATURE_GPU); told(ret) {
		d.set("temperature", strconv.Itoa(int(v)))
	}
	if v, ret := h.GetPowerUsage(); told(ret) {
		d.set("power_w", strconv.FormatFloat(float64(v)/1000, 'f', 2, 64))
	}
	if v, ret := h.GetTotalEccErrors(nvml.MEMORY_ERROR_TYPE_UNCORRECTED, nvml.VOLATILE_ECC); told(ret) {
		d.set("ecc_uncorrected", strconv.FormatUint(v, 10))
	}
	if v, _, ret := h.GetMigMode(); told(ret) && v == nvml.DEVICE_MIG_ENABLE {
		d.set("mig", "Enabled")
	}
	procs, ret := h.GetComputeRunningProcesses()
	if !told(ret) {
		return d, nil
	}
	var out []Process
	for _, p := range procs {
		x := Process{Device: index, PID: int(p.Pid), MiB: -1}
		if p.UsedGpuMemory != ^uint64(0) { // NVML_VALUE_NOT_AVAILABLE
			x.MiB = int64(p.UsedGpuMemory >> 20)
		}
		if name, ret := nvml.SystemGetProcessName(int(p.Pid)); ret == nvml.SUCCESS {
			x.Name = name
		}
		out = append(out, x)
	}
	return d, out
}
