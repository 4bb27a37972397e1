package export

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/gpu"
	"github.com/trainmedic/trainmedic/internal/run"
)

var (
	gpuName = regexp.MustCompile(`^\|\s+(\d+)\s+(.+?)\s+(?:On|Off|N/A)\s*\|`)
	gpuUse  = regexp.MustCompile(`\|\s*(\d+)MiB\s*/\s*(\d+)MiB\s*\|\s*(\d+)%`)
	gpuProc = regexp.MustCompile(`^\|\s+(\d+)\s+(?:N/A\s+N/A\s+)?(\d+)\s+(?:[CG+]+)\s+(.+?)\s+(\d+)MiB\s*\|`)
	gpuUtil = regexp.MustCompile(`(?i)\butil(?:ization)?\D{0,3}(\d{1,3}) ?%`)
	gpuVers = regexp.MustCompile(`Driver Version:\s*(\S+)(?:.*CUDA Version:\s*(\S+))?`)
)

// gpuTable reads the table of nvidia-smi: gpu.N.name, .memory_used_mib,
// .memory_total_mib, .utilization, gpu.driver, gpu.cuda. Of a line in someone's
// own words only the utilization is taken, as gpu.utilization.
func gpuTable(t *Text) (f Found) {
	id := ""
	for i, l := range t.Lines {
		if m := gpuUtil.FindStringSubmatch(l); m != nil && !strings.Contains(l, "|") {
			f.fact(t, i+1, "gpu.utilization", m[1])
		}
		if m := gpuVers.FindStringSubmatch(l); m != nil {
			f.set(t, i+1, "gpu.driver", m[1])
			f.set(t, i+1, "gpu.cuda", m[2])
		}
		if m := gpuProc.FindStringSubmatch(l); m != nil {
			f.fact(t, i+1, fmt.Sprintf("gpu.%s.process.%s.memory_mib", m[1], m[2]), m[4])
			continue
		}
		if m := gpuName.FindStringSubmatch(l); m != nil {
			id = "gpu." + m[1]
			f.fact(t, i+1, id+".name", m[2])
		}
		if m := gpuUse.FindStringSubmatch(l); m != nil && id != "" {
			f.fact(t, i+1, id+".memory_used_mib", m[1])
			f.fact(t, i+1, id+".memory_total_mib", m[2])
			f.fact(t, i+1, id+".utilization", m[3])
			id = ""
		}
	}
	return f
}

// gpuCSV reads --query-gpu=… --format=csv, by its heading or, where that was
// left out, by the shape of the columns. Of a series the highest memory and the
// last of everything else count.
func gpuCSV(t *Text) (f Found) {
	cols := map[int]string{}
	index, peak := -1, map[string]float64{}
	last := map[string]int{}
	if GPURows(strings.Join(t.Lines[:min(len(t.Lines), 64)], "\n")) {
		cols, index = bareColumns(t.Lines)
	}
	for i, l := range t.Lines {
		row, err := gpu.Row(l)
		if err != nil {
			continue
		}
		if gpuHeading.MatchString(l) && len(cols) == 0 {
			for j, c := range gpu.Heading(l) {
				if c == "index" {
					index = j
				}
				cols[j] = gpu.Columns[c]
			}
			continue
		}
		if len(cols) == 0 || len(row) != len(cols) {
			continue
		}
		id := "0"
		if index >= 0 {
			id = row[index]
		}
		f.gpuRow(t, i+1, "gpu."+id, row, cols, peak, last)
	}
	return f
}

func (f *Found) gpuRow(t *Text, line int, id string, row []string, cols map[int]string, peak map[string]float64, last map[string]int) {
	for j, cell := range row {
		name := cols[j]
		if name == "" {
			continue
		}
		key := id + "." + name
		cell, fault := gpu.Cell(name, cell)
		if fault != "" {
			key, cell = id+run.GPUFault, fault
		}
		if cell == "" {
			continue
		}
		if name == "memory_used_mib" && fault == "" {
			v, err := strconv.ParseFloat(cell, 64)
			if old, seen := peak[key]; err != nil || (seen && v <= old) {
				continue
			}
			peak[key] = v
		}
		if k, seen := last[key]; seen {
			f.Facts[k].Value, f.Facts[k].From = cell, t.Ref(line)
			continue
		}
		last[key] = len(f.Facts)
		f.fact(t, line, key, cell)
	}
}
