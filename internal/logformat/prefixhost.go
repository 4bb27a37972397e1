package logformat

import "bytes"

// kubernetes reads "2024-01-01T10:00:00.123456789Z " and the "stderr F " that
// container runtimes write after it.
func (p *Prefix) kubernetes(b []byte) int {
	if len(b) < 21 || b[0] != '2' || b[4] != '-' || b[10] != 'T' {
		return 0
	}
	t, n := parseTime(b)
	if n == 0 || n >= len(b) || b[n] != ' ' || b[n-1] != 'Z' && b[n-3] != ':' {
		return 0
	}
	if p.Time.IsZero() {
		p.Time = t
	}
	for _, s := range [...]string{"stdout", "stderr"} {
		if has(b[n+1:], s) && len(b) > n+9 && b[n+7] == ' ' && b[n+9] == ' ' {
			p.Stream = s
			return n + 10
		}
	}
	return n + 1
}

// journal reads "Jan 02 15:04:05 host program[123]: ".
func (p *Prefix) journal(b []byte) int {
	if len(b) < 20 || b[3] != ' ' || b[6] != ' ' || b[9] != ':' || b[12] != ':' || month(b) == 0 {
		return 0
	}
	end := bytes.Index(b[:min(len(b), 120)], []byte("]: "))
	open := bytes.IndexByte(b[:min(len(b), 120)], '[')
	if end < 0 || open < 16 || open > end || bytes.Count(b[16:open], []byte(" ")) != 1 {
		return 0
	}
	p.Worker = string(b[16 : end+1])
	return end + 3
}

// workerPool reads Vertex AI's "INFO 2024-01-01 10:00:00 +0000 workerpool0-0 ".
func (p *Prefix) workerPool(b []byte) int {
	if b[0] != 'w' && (b[0] < 'A' || b[0] > 'Z' || b[1] < 'A' || b[1] > 'Z') {
		return 0
	}
	level := levelAt(b)
	if level == "" && !has(b, "workerpool") {
		return 0
	}
	i := bytes.Index(b[:min(len(b), 64)], []byte("workerpool"))
	if i < 0 {
		return 0
	}
	end := i
	for end < len(b) && !isSpace(b[end]) {
		end++
	}
	if i > len(level)+1 {
		t, n := parseTime(skipSpace(b[len(level):]))
		if n == 0 {
			return 0
		}
		p.Time = t
	}
	p.Worker, p.Level = string(b[i:end]), level
	return min(end+1, len(b))
}

// named reads a host or service before its line: pdsh's "node-4: " and docker
// compose's "worker-1  | ".
func (p *Prefix) named(b []byte) int {
	if !isAlpha(b[0]) || p.Worker != "" {
		return 0
	}
	i, digits, joints := 0, 0, 0
	for i < len(b) && i < 64 && (isWord(b[i]) || b[i] == '-' || b[i] == '.') {
		switch {
		case isDigit(b[i]):
			digits++
		case b[i] == '-' || b[i] == '.':
			joints++
		}
		i++
	}
	if digits == 0 || i >= len(b) || i < 2 {
		return 0
	}
	name := b[:i]
	j := i
	for j < len(b) && b[j] == ' ' {
		j++
	}
	switch {
	case b[i] == ':' && i+1 < len(b) && b[i+1] == ' ' && isHost(name, joints):
		p.Worker = string(name)
		return i + 2
	case j > i && j < len(b) && b[j] == '|' && (j+1 == len(b) || b[j+1] == ' ') && isHost(name, joints):
		p.Worker = string(name)
		return min(j+2, len(b))
	}
	return 0
}

// isHost reports whether a name with digits is that of a host, pod or service
// and not a counter ("epoch-3") or a file.
func isHost(name []byte, joints int) bool {
	for _, w := range [...]string{"epoch", "step", "iter", "fold", "layer", "batch", "trial", "round", "stage", "train", "val", "loss", "acc", "lr", "top", "model", "block"} {
		if hasFold(name, w) {
			return false
		}
	}
	for _, s := range [...]string{".py", ".cc", ".cpp", ".cu", ".h", ".c", ".so", ".sh", ".json", ".yaml", ".pt", ".go", "error", "exception", "warning", "interrupt"} {
		if endsFold(name, s) {
			return false
		}
	}
	if !isDigit(name[len(name)-1]) && joints < 2 {
		return false
	}
	if joints > 0 {
		return isAlpha(name[0])
	}
	for _, w := range [...]string{"node", "host", "worker", "gpu", "rank", "ip", "trainer", "master", "launcher"} {
		if hasFold(name, w) && isDigit(name[len(w):][0]) {
			return true
		}
	}
	return false
}
