package export

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	dfRow   = regexp.MustCompile(`^(\S+)(?:\s+[a-z][\w.]*)?\s+(\S+)\s+(\S+)\s+(\S+)\s+(\d+)%\s+(/.*)$`)
	sizeRe  = regexp.MustCompile(`^([\d.]+)\s*([KMGTPE]?)(i?)B?$`)
	limitRe = regexp.MustCompile(`^(?:-\w: )?([a-zA-Z][a-zA-Z ()/,-]*?)\s+(?:\([^)]*\)\s+)?(unlimited|\d+)\s*$`)
)

// df reads df, df -h and df -i: disk.<mount>.used_percent, .size_bytes,
// .avail_bytes, .inodes_used_percent; and shm.size_bytes of /dev/shm.
func df(t *Text) (f Found) {
	inodes, unit := false, int64(1)
	for i, l := range t.Lines {
		if strings.HasPrefix(l, "Filesystem") {
			inodes = strings.Contains(l, "IUse%") || strings.Contains(l, "Inodes")
			unit = blockOf(l)
			continue
		}
		m := dfRow.FindStringSubmatch(strings.TrimSpace(l))
		if m == nil {
			continue
		}
		key := "disk." + strings.TrimSpace(m[6])
		if inodes {
			f.fact(t, i+1, key+".inodes_used_percent", m[5])
			continue
		}
		f.fact(t, i+1, key+".used_percent", m[5])
		f.size(t, i+1, key+".size_bytes", m[2], unit)
		f.size(t, i+1, key+".avail_bytes", m[4], unit)
		if strings.TrimSpace(m[6]) == "/dev/shm" {
			f.size(t, i+1, "shm.size_bytes", m[2], unit)
		}
	}
	return f
}

// blockOf is the unit of numbers without one: df counts in 1K blocks.
func blockOf(header string) int64 {
	switch {
	case strings.Contains(header, "1B-blocks"), strings.Contains(header, "1-blocks"):
		return 1
	case strings.Contains(header, "512-blocks"), strings.Contains(header, "512B"):
		return 512
	case strings.Contains(header, "1M-blocks"):
		return 1 << 20
	}
	return 1 << 10
}

func (f *Found) size(t *Text, line int, key, text string, unit int64) {
	if n, ok := bytesOf(text, unit); ok {
		f.fact(t, line, key, strconv.FormatInt(n, 10))
	}
}

// bytesOf reads 1.8T, 64M, 503Gi, 0B, 120Gi; a bare number counts units.
func bytesOf(s string, unit int64) (int64, bool) {
	m := sizeRe.FindStringSubmatch(strings.TrimSpace(s))
	if m == nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return 0, false
	}
	if m[2] == "" {
		if strings.HasSuffix(s, "B") {
			unit = 1
		}
		return int64(v * float64(unit)), true
	}
	return int64(v * float64(int64(1)<<(10*(1+strings.Index("KMGTPE", m[2]))))), true
}

// free reads free and /proc/meminfo: memory.total_bytes, .used_bytes,
// .available_bytes, .swap_total_bytes.
func free(t *Text) (f Found) {
	cols := map[string]int{}
	unit := int64(1 << 10)
	for i, l := range t.Lines {
		w := strings.Fields(l)
		switch {
		case len(w) >= 3 && w[0] == "total":
			for j, c := range w {
				cols[c] = j + 1
			}
		case len(w) > 1 && w[0] == "Mem:":
			unit = unitOf(w[1])
			for _, c := range []string{"total", "used", "available"} {
				if j := cols[c]; j > 0 && j < len(w) {
					f.size(t, i+1, "memory."+c+"_bytes", w[j], unit)
				}
			}
		case len(w) > 1 && w[0] == "Swap:":
			f.size(t, i+1, "memory.swap_total_bytes", w[1], unit)
		case len(w) == 3 && w[0] == "MemTotal:":
			f.size(t, i+1, "memory.total_bytes", w[1], unit)
		case len(w) == 3 && w[0] == "MemAvailable:":
			f.size(t, i+1, "memory.available_bytes", w[1], unit)
		}
	}
	return f
}

// unitOf guesses what free counts in, which it does not say: a machine has
// between 4 GB and 2 TB, so the number itself tells KB from MB (-m) and GB (-g).
func unitOf(total string) int64 {
	n, err := strconv.ParseInt(total, 10, 64)
	switch {
	case err != nil || n >= 4<<20:
		return 1 << 10
	case n >= 4<<10:
		return 1 << 20
	}
	return 1 << 30
}

// ulimit reads ulimit -a and /proc/PID/limits: ulimit.open_files and the like.
func ulimit(t *Text) (f Found) {
	for i, l := range t.Lines {
		if m := limitRe.FindStringSubmatch(strings.TrimSpace(l)); m != nil && strings.Contains(strings.ToLower(t.Name), "limit") {
			key := strings.ReplaceAll(strings.ToLower(strings.TrimSpace(m[1])), " ", "_")
			f.fact(t, i+1, "ulimit."+key, m[2])
		}
	}
	return f
}
