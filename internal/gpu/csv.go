package gpu

import (
	"encoding/csv"
	"strings"
)

// Columns are the columns of nvidia-smi's --query-gpu that become readings, by
// the name of the reading.
var Columns = map[string]string{
	"name": "name", "memory.used": "memory_used_mib", "memory.total": "memory_total_mib",
	"utilization.gpu": "utilization", "temperature.gpu": "temperature", "power.draw": "power_w",
	"ecc.errors.uncorrected.volatile.total": "ecc_uncorrected", "pstate": "pstate", "mig.mode.current": "mig",
}

// Heading reads the heading of nvidia-smi's CSV: the name of each column as
// --query-gpu takes it, without its unit.
func Heading(line string) []string {
	row, err := Row(line)
	if err != nil {
		return nil
	}
	for i, c := range row {
		row[i], _, _ = strings.Cut(c, " ")
	}
	return row
}

// Row takes a line of nvidia-smi's CSV apart.
func Row(line string) ([]string, error) {
	r := csv.NewReader(strings.NewReader(line))
	r.LazyQuotes, r.TrimLeadingSpace = true, true
	row, err := r.Read()
	for i := range row {
		row[i] = strings.TrimSpace(row[i])
	}
	return row, err
}

// Cell is the value of a cell without its unit; "" where the driver does not
// tell it, and then fault is what it says of a device that is not well.
func Cell(column, cell string) (value, fault string) {
	bare := strings.Trim(cell, "[]")
	switch {
	case bare == "ERR!", bare == "Unknown Error", strings.HasPrefix(bare, "GPU "): // "GPU is lost", "GPU requires reset"
		return "", bare
	case bare == "N/A", strings.HasPrefix(cell, "["), bare == "Not Supported", bare == "Insufficient Permissions", bare == "Not Found":
		return "", ""
	case column == "name":
		return cell, ""
	}
	value, _, _ = strings.Cut(cell, " ")
	return value, ""
}
