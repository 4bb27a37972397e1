package effect

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/source/process"
)

// memory is how a run was started: what a restart has to be the same as.
type memory struct {
	run     string // the watch that saw it
	who     process.Known
	args    []string
	env     []string
	program string // the file that runs
	dir     string
	log     string // where its output goes, "" if that is no file
	prints  []string
}

// maxMemories bounds how many runs are remembered; the oldest go.
const maxMemories = 1000

// Remember notes how a live process was started, for a restart of just that. A
// watch calls it at each look; the first call of a process counts. pid is 0 where
// the watch knows only logs: then who writes them is sought.
func (e *Effects) Remember(run string, pid int, logs []string) {
	for i := 0; pid == 0 && i < len(logs) && i < 4; i++ {
		pid = process.Writer(logs[i])
	}
	who, err := process.Know(pid)
	if pid == 0 || err != nil || !who.Lives() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if slices.ContainsFunc(e.started, func(m *memory) bool { return m.run == run && m.who.PID == who.PID && m.who.Start == who.Start }) {
		return
	}
	m := &memory{run: run, who: who, args: process.Args(pid), env: process.Environ(pid), program: process.Program(pid), dir: process.Cwd(pid)}
	if len(m.args) == 0 || m.env == nil || m.program == "" || m.dir == "" || !who.Lives() {
		return // this user may not see it, or it ended meanwhile
	}
	if path, info := process.Output(pid); info != nil {
		m.log = path
	}
	m.prints = prints(m.program, m.dir, m.args)
	if e.started = append(e.started, m); len(e.started) > maxMemories {
		e.started = e.started[1:]
	}
}

// recall finds the newest run that a proposal means.
func (e *Effects) recall(p gate.Proposal) (*memory, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	pid, _ := strconv.Atoi(strings.TrimPrefix(p.Target, "pid:")) // 0 when it is none
	for _, m := range slices.Backward(e.started) {
		if p.Run != "" && m.run == p.Run || pid > 0 && m.who.PID == pid {
			return m, nil
		}
	}
	return nil, cannot("not_remembered", "how this run was started is not known: it was not watched by this server while it lived (monitor_run remembers it), or it belongs to another user")
}

// maxPrinted is the largest file whose bytes are compared.
const maxPrinted = 16 << 20

// prints are the fingerprints of the program and of the files that the arguments
// name: scripts and configurations. What a script imports is not among them.
func prints(program, dir string, args []string) []string {
	out := []string{print(program)}
	for _, a := range args[1:] {
		if _, value, ok := strings.Cut(a, "="); ok && strings.HasPrefix(a, "-") {
			a = value
		}
		if !filepath.IsAbs(a) {
			a = filepath.Join(dir, a)
		}
		if st, err := os.Stat(a); err == nil && st.Mode().IsRegular() && textual[filepath.Ext(a)] {
			out = append(out, print(a))
		}
	}
	return out
}

// textual are the files of a command line that say what the run does; a
// checkpoint is not one, and changes as the run goes on.
var textual = map[string]bool{
	"": true, ".py": true, ".sh": true, ".bash": true, ".yaml": true, ".yml": true, ".json": true, ".toml": true, ".cfg": true, ".ini": true, ".ipynb": true, ".conf": true,
}

// print names the bytes of a file, or of a large one its size and time.
func print(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return path + " cannot be read"
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return path + " cannot be read"
	}
	if st.Size() > maxPrinted {
		return fmt.Sprintf("%s %d bytes of %d", path, st.Size(), st.ModTime().UnixNano())
	}
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, maxPrinted+1)); err != nil {
		return path + " cannot be read"
	}
	return path + " " + hex.EncodeToString(h.Sum(nil)[:16])
}

// known are the prints of files that were there before, too, in the order and number
// of before as far as they are.
func known(was, is []string) []string {
	var out []string
	for _, w := range was {
		out = append(out, w)
		path, _, _ := strings.Cut(w, " ")
		for _, p := range is {
			if strings.HasPrefix(p, path+" ") {
				out[len(out)-1] = p
			}
		}
	}
	return out
}

// changed names the files that are not as they were, "" when all are.
func changed(was, is []string) string {
	var out []string
	for _, p := range is {
		if !slices.Contains(was, p) {
			name, _, _ := strings.Cut(p, " ")
			out = append(out, name)
		}
	}
	if len(out) == 0 && len(was) != len(is) {
		out = []string{"a file that the command names"}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, ", ") + " changed since the run started"
}
