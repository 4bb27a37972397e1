package logformat

import "bytes"

// airflow reads what Airflow puts before a task's own line: "[2025-06-07T11:44:03
// .000+0000] {pod_manager.py:418} INFO - ", with the container's name behind it
// where a pod was run: "[base] ".
func (p *Prefix) airflow(b []byte) int {
	if len(b) < 40 || !isDigit(b[1]) || !isDigit(b[4]) {
		return 0
	}
	end := bytes.Index(b[:min(len(b), 48)], []byte("] {"))
	if end < 0 {
		return 0
	}
	brace := bytes.Index(b[end:min(len(b), end+80)], []byte("} "))
	dash := bytes.Index(b[end:min(len(b), end+110)], []byte(" - "))
	if brace < 0 || dash < brace || !bytes.Contains(b[end:end+brace], []byte(".py:")) {
		return 0
	}
	t, n := parseTime(b[1:end])
	if n == 0 {
		return 0
	}
	p.Time = t
	i := end + dash + len(" - ")
	if len(b) > i+7 && string(b[i:i+7]) == "[base] " {
		i += len("[base] ")
	}
	return i
}
