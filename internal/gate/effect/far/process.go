package far

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Process is a process of the host: its PID alone is not enough, since PIDs are
// used again.
type Process struct {
	PID, Parent, Group int
	State, Start       string
}

// Launch is how a process was started, its secrets too: it MUST NOT be told.
type Launch struct {
	Args, Env    []string
	Program, Dir string
	Output       string // the file that its output goes to, "" if that is no file
}

// Process looks at a process. The error is source.ErrNotFound when there is none.
func (h *Host) Process(ctx context.Context, pid int) (Process, error) {
	a, err := h.look(ctx, fmt.Sprintf("cat /proc/%d/stat", pid))
	if err != nil {
		return Process{}, err
	}
	p, ok := parse(string(a.Out))
	if !ok || p.PID != pid || p.State == "Z" || p.State == "X" {
		return Process{}, fmt.Errorf("far: there is no process %d on %s (any more): %w", pid, h.name, source.ErrNotFound)
	}
	return p, nil
}

// Processes lists what runs.
func (h *Host) Processes(ctx context.Context) ([]Process, error) {
	a, err := h.look(ctx, "cat /proc/[0-9]*/stat 2>/dev/null; true") // one may end meanwhile
	if err != nil {
		return nil, err
	}
	var out []Process
	for line := range strings.Lines(string(a.Out)) {
		if p, ok := parse(line); ok {
			out = append(out, p)
		}
	}
	return out, nil
}

// parse reads a line of /proc/PID/stat; the name in it may hold anything.
func parse(line string) (Process, bool) {
	open, end := strings.IndexByte(line, '('), strings.LastIndexByte(line, ')')
	if open < 1 || end < open {
		return Process{}, false
	}
	f := strings.Fields(line[end+1:]) // from field 3 on
	pid, err := strconv.Atoi(strings.TrimSpace(line[:open]))
	if err != nil || pid <= 0 || len(f) < 20 {
		return Process{}, false
	}
	p := Process{PID: pid, State: f[0], Start: f[22-3]}
	if p.Parent, err = strconv.Atoi(f[1]); err != nil {
		return Process{}, false
	}
	if p.Group, err = strconv.Atoi(f[2]); err != nil {
		return Process{}, false
	}
	if _, err = strconv.ParseUint(p.Start, 10, 64); err != nil { // it goes into scripts
		return Process{}, false
	}
	return p, true
}

// Family is a process, all below it and, if group is not 0, the others of its
// group. It is empty when the process is gone.
func (h *Host) Family(ctx context.Context, who Process, group int) ([]Process, error) {
	all, err := h.Processes(ctx)
	if err != nil {
		return nil, err
	}
	return family(all, who, group), nil
}

// maxFamily bounds how many processes of a run are looked at.
const maxFamily = 512

func family(all []Process, who Process, group int) []Process {
	i := slices.IndexFunc(all, func(p Process) bool { return p.PID == who.PID && p.Start == who.Start && p.State != "Z" })
	if i < 0 {
		return nil
	}
	out := []Process{all[i]}
	have := map[int]bool{who.PID: true}
	add := func(p Process) {
		if !have[p.PID] && len(out) < maxFamily {
			have[p.PID] = true
			out = append(out, p)
		}
	}
	for _, p := range all {
		if group > 0 && p.Group == group {
			add(p)
		}
	}
	for n := 0; n < len(out); n++ {
		for _, p := range all {
			if p.Parent == out[n].PID {
				add(p)
			}
		}
	}
	return out
}

// Above are the PIDs of the shell that acts on the host and of all that started it.
func (h *Host) Above(ctx context.Context) (map[int]bool, error) {
	a, err := h.look(ctx, "echo $$")
	if err != nil {
		return nil, err
	}
	all, err := h.Processes(ctx)
	if err != nil {
		return nil, err
	}
	parent := map[int]int{}
	for _, p := range all {
		parent[p.PID] = p.Parent
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(a.Out)))
	if err != nil {
		return nil, fmt.Errorf("far: %s: its shell has no PID: %w", h.name, source.ErrUnreachable)
	}
	out := map[int]bool{}
	for ; pid > 0 && !out[pid]; pid = parent[pid] {
		out[pid] = true
	}
	return out, nil
}

// Args is the command line of a process, its secrets too; nil when it has none.
func (h *Host) Args(ctx context.Context, pid int) ([]string, error) {
	got, err := h.parts(ctx, fmt.Sprintf("cat /proc/%d/cmdline", pid))
	if err != nil {
		return nil, err
	}
	return split(got[0]), nil
}

func split(b []byte) []string {
	text := strings.TrimSuffix(string(b), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}

// Launch looks how a process was started; parts that this user may not see are
// empty.
func (h *Host) Launch(ctx context.Context, pid int) (Launch, error) {
	p := fmt.Sprintf("/proc/%d/", pid)
	got, err := h.parts(ctx, "cat "+p+"cmdline", "cat "+p+"environ", "readlink "+p+"exe", "readlink "+p+"cwd",
		"t=$(readlink "+p+"fd/1) && [ -f \"$t\" ] && [ \"$t\" -ef "+p+"fd/1 ] && printf '%s\\n' \"$t\"")
	if err != nil {
		return Launch{}, err
	}
	line := func(i int) string { return strings.TrimSuffix(strings.TrimSuffix(string(got[i]), "\n"), " (deleted)") }
	return Launch{Args: split(got[0]), Env: split(got[1]), Program: line(2), Dir: line(3), Output: line(4)}, nil
}

// Writer finds the one run that writes to a file: of the processes that have it
// open for that the one that none of the others started; 0 if there is none, or
// there are several.
func (h *Host) Writer(ctx context.Context, path string) (int, error) {
	if !strings.HasPrefix(path, "/") { // the account's home, where the shell works
		path = "./" + strings.TrimPrefix(strings.TrimPrefix(path, "./"), "~/")
	}
	a, err := h.look(ctx, "l="+shell.Quote(path)+`
[ -f "$l" ] || exit 0
for d in /proc/[0-9]*; do
for f in "$d"/fd/*; do
[ "$f" -ef "$l" ] || continue
{ read -r _ && read -r _ flags; } <"$d/fdinfo/${f##*/}" || continue
case $flags in *[1256]) cat "$d/stat"; break;; esac
done
done 2>/dev/null; true`)
	if err != nil {
		return 0, err
	}
	var all []Process
	for line := range strings.Lines(string(a.Out)) {
		if p, ok := parse(line); ok {
			all = append(all, p)
		}
	}
	top := slices.DeleteFunc(slices.Clone(all), func(p Process) bool {
		return slices.ContainsFunc(all, func(o Process) bool { return o.PID == p.Parent })
	})
	if len(top) != 1 {
		return 0, nil
	}
	return top[0].PID, nil
}

// Running is a process with that command line in that folder, 0 if there is none.
func (h *Host) Running(ctx context.Context, args []string, dir string) (int, error) {
	a, err := h.look(ctx, "d="+shell.Quote(dir)+`
for p in /proc/[0-9]*; do [ "$p/cwd" -ef "$d" ] && echo "${p#/proc/}"; done 2>/dev/null; true`)
	if err != nil {
		return 0, err
	}
	var scripts []string
	pids := strings.Fields(string(a.Out))
	for _, pid := range pids {
		scripts = append(scripts, "cat /proc/"+shell.Quote(pid)+"/cmdline")
	}
	if len(pids) == 0 {
		return 0, nil
	}
	got, err := h.parts(ctx, scripts...)
	if err != nil {
		return 0, err
	}
	for i, b := range got {
		if pid, err := strconv.Atoi(pids[i]); err == nil && slices.Equal(split(b), args) {
			return pid, nil
		}
	}
	return 0, nil
}
