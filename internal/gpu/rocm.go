package gpu

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/shell"
)

var rocmPrograms = []string{"rocm-smi", "/opt/rocm/bin/rocm-smi"}

func (r *Reader) byROCm(ctx context.Context) (Seen, error) {
	out, err := r.ask(ctx, rocmPrograms, "--showproductname", "--showbus", "--showuse", "--showmeminfo", "vram", "--showtemp", "--showpower", "--json")
	if errors.Is(err, shell.ErrNoProgram) || errors.Is(err, errHung) || ctx.Err() != nil {
		return Seen{}, err
	}
	s := Seen{By: "rocm-smi", Devices: readCards(out)}
	if len(s.Devices) == 0 {
		if err != nil {
			return Seen{}, refusal(out, err)
		}
		return Seen{}, fmt.Errorf("gpu: rocm-smi lists no device: %.200s", strings.TrimSpace(string(out)))
	}
	if len(s.Devices) == 1 { // it tells on how many devices a process is, not on which
		out, err = r.ask(ctx, rocmPrograms, "--showpids")
		if errors.Is(err, errHung) || ctx.Err() != nil {
			return s, err
		}
		s.Processes = readROCmProcesses(out, s.Devices[0].Index)
	}
	return s, nil
}

// rocmNames are rocm-smi's names of a reading over its versions, the likeliest
// first.
var rocmNames = []struct {
	name  string
	keys  []string
	bytes bool
}{
	{"name", []string{"Card Series", "Card series", "Device Name", "Card model", "Card Model"}, false},
	{"utilization", []string{"GPU use (%)"}, false},
	{"memory_used_mib", []string{"VRAM Total Used Memory (B)"}, true},
	{"memory_total_mib", []string{"VRAM Total Memory (B)"}, true},
	{"temperature", []string{"Temperature (Sensor junction) (C)", "Temperature (Sensor edge) (C)"}, false},
	{"power_w", []string{"Current Socket Graphics Package Power (W)", "Average Graphics Package Power (W)", "Average Package Power (W)"}, false},
}

// readCards reads rocm-smi's JSON; warnings may stand before it.
func readCards(out []byte) (devices []Device) {
	at := bytes.IndexByte(out, '{')
	if at < 0 {
		return nil
	}
	var cards map[string]map[string]any
	if json.NewDecoder(bytes.NewReader(out[at:])).Decode(&cards) != nil {
		return nil
	}
	for name, card := range cards {
		index, err := strconv.Atoi(strings.TrimPrefix(name, "card"))
		if err != nil {
			continue
		}
		text := func(key string) string {
			v, _ := card[key].(string)
			return v
		}
		d := Device{Index: index, Bus: busOf(text("PCI Bus"))}
		for _, n := range rocmNames {
			i := slices.IndexFunc(n.keys, func(k string) bool { return text(k) != "" })
			if i < 0 {
				continue
			}
			value, fault := Cell(n.name, text(n.keys[i]))
			if b, err := strconv.ParseInt(value, 10, 64); n.bytes && err == nil {
				value = strconv.FormatInt(b>>20, 10)
			}
			d.set(n.name, value)
			d.Fault = fault
		}
		devices = append(devices, d)
	}
	slices.SortFunc(devices, func(a, b Device) int { return a.Index - b.Index })
	return devices
}

// readROCmProcesses reads the table of --showpids: PID, name, how many GPUs, bytes
// of memory.
func readROCmProcesses(out []byte, device int) (all []Process) {
	for line := range bytes.Lines(out) {
		f := strings.Fields(string(line))
		if len(f) < 4 {
			continue
		}
		pid, err := strconv.Atoi(f[0])
		vram, errVRAM := strconv.ParseInt(f[3], 10, 64)
		if err == nil && errVRAM == nil && pid > 0 && vram > 0 {
			all = append(all, Process{Device: device, PID: pid, Name: f[1], MiB: vram >> 20})
		}
	}
	return all
}
