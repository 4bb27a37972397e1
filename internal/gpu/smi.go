package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/shell"
)

// smiPrograms are where nvidia-smi is; a shell that nobody logged into may not
// have all of them in its path.
var smiPrograms = []string{"nvidia-smi", "/usr/bin/nvidia-smi", "/usr/local/nvidia/bin/nvidia-smi", "/usr/lib/wsl/lib/nvidia-smi"}

// smiColumns are asked for; a driver that does not know one is asked again
// without it.
var smiColumns = []string{
	"index", "uuid", "pci.bus_id", "name", "utilization.gpu", "memory.used", "memory.total", "temperature.gpu", "power.draw",
	"ecc.errors.uncorrected.volatile.total", "pstate", "mig.mode.current",
}

var notAField = regexp.MustCompile(`Field "([^"]+)" is not a valid field to query`)

func (r *Reader) bySMI(ctx context.Context) (Seen, error) {
	columns := slices.Clone(smiColumns)
	for {
		out, err := r.ask(ctx, smiPrograms, "--query-gpu="+strings.Join(columns, ","), "--format=csv")
		if m := notAField.FindSubmatch(out); m != nil {
			n := len(columns)
			if columns = slices.DeleteFunc(columns, func(c string) bool { return c == string(m[1]) }); len(columns) < n {
				continue
			}
		}
		s := Seen{By: "nvidia-smi", Devices: readDevices(out)}
		if err != nil && len(s.Devices) == 0 {
			if errors.Is(err, shell.ErrNoProgram) || errors.Is(err, errHung) || ctx.Err() != nil {
				return Seen{}, err
			}
			return Seen{}, refusal(out, err)
		}
		if len(s.Devices) == 0 {
			return Seen{}, fmt.Errorf("gpu: nvidia-smi lists no device: %.200s", strings.TrimSpace(string(out)))
		}
		// The name comes last: it may hold anything, commas too.
		out, err = r.ask(ctx, smiPrograms, "--query-compute-apps=gpu_uuid,pid,used_memory,process_name", "--format=csv,noheader")
		if errors.Is(err, errHung) || ctx.Err() != nil {
			return s, err
		}
		s.Processes = readProcesses(out, s.Devices) // what an error leaves is read; the devices count without it
		return s, nil
	}
}

// readDevices reads --query-gpu's CSV with its heading; lines that do not fit it
// are messages.
func readDevices(out []byte) (devices []Device) {
	var columns []string
	for line := range bytes.Lines(out) {
		row, err := Row(strings.TrimSpace(string(line)))
		switch {
		case err != nil:
		case columns == nil && slices.Contains(row, "index"):
			columns = Heading(strings.TrimSpace(string(line)))
		case columns != nil && len(row) == len(columns):
			if d, ok := readDevice(columns, row); ok {
				devices = append(devices, d)
			}
		}
	}
	return devices
}

func readDevice(columns, row []string) (d Device, ok bool) {
	for i, c := range columns {
		switch c {
		case "index":
			n, err := strconv.Atoi(row[i])
			if err != nil {
				return d, false
			}
			d.Index, ok = n, true
			continue
		case "uuid":
			d.UUID = row[i]
			continue
		case "pci.bus_id":
			d.Bus = busOf(row[i])
			continue
		}
		name := Columns[c]
		value, fault := Cell(name, row[i])
		if fault != "" {
			d.Fault = fault
		}
		if name != "" && (name != "mig" || value == "Enabled") {
			d.set(name, value)
		}
	}
	return d, ok
}

// busOf is a PCI address as the kernel writes it: the driver's has a domain of
// eight digits and large letters.
func busOf(s string) string {
	s = strings.ToLower(s)
	if domain, rest, ok := strings.Cut(s, ":"); ok && len(domain) == 8 {
		return domain[4:] + ":" + rest
	}
	return s
}

func readProcesses(out []byte, devices []Device) (all []Process) {
	for line := range bytes.Lines(out) {
		f := strings.SplitN(strings.TrimSpace(string(line)), ",", 4)
		if len(f) < 4 {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(f[1]))
		i := slices.IndexFunc(devices, func(d Device) bool { return d.UUID != "" && d.UUID == strings.TrimSpace(f[0]) })
		if err != nil || i < 0 {
			continue
		}
		p := Process{Device: devices[i].Index, PID: pid, MiB: -1, Name: strings.TrimSpace(f[3])}
		if strings.HasPrefix(p.Name, "[") {
			p.Name = ""
		}
		if v, _ := Cell("", strings.TrimSpace(f[2])); v != "" {
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				p.MiB = n
			}
		}
		all = append(all, p)
	}
	return all
}
