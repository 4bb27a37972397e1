package export

import (
	"encoding/csv"
	"regexp"
	"strconv"
	"strings"
)

var (
	gpuHeading = regexp.MustCompile(`(?i)\b(?:memory\.(?:used|total)|utilization\.gpu|power\.draw)\b`)
	gpuModel   = regexp.MustCompile(`^(?:NVIDIA |Tesla |GeForce |Quadro |TITAN |GRID |RTX |[ABLHV]\d{2,3}[ -])`)
	gpuUUID    = regexp.MustCompile(`^GPU-[0-9a-f]{8}-`)
	gpuClock   = regexp.MustCompile(`^\d{4}/\d\d/\d\d \d\d:\d\d:\d\d`)
	gpuUnit    = regexp.MustCompile(`^\d+(?:\.\d+)? (MiB|%|W)$`)
)

// bare is a column of nvidia-smi's CSV without its heading.
type bare struct {
	kind     string // "model", "uuid", "clock", "MiB", "%", "W", "number", ""
	min, max float64
}

// GPURows reports whether text is nvidia-smi's CSV without its heading: rows of
// equal length that name a GPU and a reading, or that are readings only.
func GPURows(head string) bool {
	cols, _ := shapeOf(strings.Split(head[:strings.LastIndexByte(head, '\n')+1], "\n"))
	kinds := map[string]int{}
	for _, c := range cols {
		kinds[c.kind]++
	}
	units := kinds["MiB"] + kinds["%"] + kinds["W"]
	if kinds["model"]+kinds["uuid"] > 0 {
		return units+kinds["number"] > 0
	}
	return kinds[""] == 0 && kinds["MiB"] > 0 && units > 1
}

// shapeOf says what each column holds in all rows; no columns when the rows do
// not fit together.
func shapeOf(lines []string) (cols []bare, rows int) {
	for _, l := range lines {
		if strings.TrimSpace(l) == "" {
			continue
		}
		row, err := csv.NewReader(strings.NewReader(l)).Read()
		if err != nil || len(row) < 2 || cols != nil && len(row) != len(cols) {
			return nil, 0
		}
		if rows++; cols == nil {
			cols = make([]bare, len(row))
		}
		for i, cell := range row {
			cols[i].take(strings.TrimSpace(cell), rows == 1)
		}
	}
	return cols, rows
}

func (c *bare) take(cell string, first bool) {
	kind := kindOf(cell)
	if first {
		c.kind = kind
	} else if c.kind != kind {
		c.kind = ""
	}
	number, _, _ := strings.Cut(cell, " ")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return
	}
	if first || v < c.min {
		c.min = v
	}
	if first || v > c.max {
		c.max = v
	}
}

func kindOf(cell string) string {
	if m := gpuUnit.FindStringSubmatch(cell); m != nil {
		return m[1]
	}
	switch _, err := strconv.ParseFloat(cell, 64); {
	case gpuModel.MatchString(cell):
		return "model"
	case gpuUUID.MatchString(cell):
		return "uuid"
	case gpuClock.MatchString(cell):
		return "clock"
	case err == nil:
		return "number"
	}
	return ""
}

// A GPU has at least that much memory (MiB), and no index as large.
const leastMemory = 1000

// bareColumns names the columns that their values tell: the first number below
// 1000 before the model is the index; of two columns of memory the one that is
// nowhere smaller is the total. What could be two things is left out: three
// columns of memory, or a number that may be a temperature.
func bareColumns(lines []string) (map[int]string, int) {
	cols, _ := shapeOf(lines)
	out, index := map[int]string{}, -1
	var memory, percent []int
	for i, c := range cols {
		out[i] = ""
		switch {
		case c.kind == "model":
			out[i] = "name"
		case c.kind == "W":
			out[i] = "power_w"
		case c.kind == "%":
			percent = append(percent, i)
		case c.kind == "MiB":
			memory = append(memory, i)
		case c.kind == "number" && c.max < 64 && c.min >= 0 && index < 0 && leads(cols[:i]):
			index = i
		case c.kind == "number" && c.max >= leastMemory:
			memory = append(memory, i)
		case c.kind == "number" && c.min >= 0 && c.max <= 100 && (c.max > 95 || c.min < 15):
			percent = append(percent, i) // no temperature is so high or low
		}
	}
	if len(percent) > 0 {
		out[percent[0]] = "utilization" // of the GPU; that of the memory comes second
	}
	if len(memory) == 2 {
		used, total := memory[0], memory[1]
		if cols[used].max > cols[total].max {
			used, total = total, used
		}
		out[used], out[total] = "memory_used_mib", "memory_total_mib"
	}
	return out, index
}

// leads reports whether nothing stands before a column but the time.
func leads(cols []bare) bool {
	for _, c := range cols {
		if c.kind != "clock" {
			return false
		}
	}
	return true
}
