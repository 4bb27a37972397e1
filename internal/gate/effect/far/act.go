package far

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/shell"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Start starts a command in a session of its own that outlives the connection: in
// its folder, with just this environment and nothing on standard input, its output
// appended to l.Log, which is made when it is not there. Neither the environment
// nor the command's own words are seen by other users of the host before they are
// the command's.
func (h *Host) Start(ctx context.Context, l source.Launch) (pid int, err error) {
	inner := "cd -- " + shell.Quote(l.Dir) + " || exit 71\nunset OLDPWD SHLVL\n" + environment(l)
	text := `cd -- @dir || exit 71
mkdir -p -- "$(dirname -- @log)" && [ ! -h @log ] && { [ -e @log ] || (umask 077; : >@log); } && [ -f @log ] || exit 72
printf %s @script | setsid env -i /bin/sh >/dev/null 2>&1 &
echo $!`
	a, err := h.act(ctx, strings.NewReplacer("@dir", shell.Quote(l.Dir), "@log", shell.Quote(l.Log), "@script", shell.Quote(inner)).Replace(text), 0)
	if err != nil {
		return 0, err
	}
	if pid, err = strconv.Atoi(strings.TrimSpace(string(a.Out))); err != nil || a.Status != 0 {
		return 0, fmt.Errorf("far: %s: it was not started (status %d): %.300s", h.name, a.Status, strings.TrimSpace(a.Said))
	}
	return pid, nil
}

// plainName is a variable that a shell can export as it is. Those that a shell has
// of its own, and may not be changed there, are none.
var (
	plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	shellsOwn = regexp.MustCompile(`^(?:UID|EUID|PPID|SHELLOPTS|BASHOPTS|BASH_VERSINFO|BASH_READONLY|_)$`)
)

// environment is the end of the inner script: it takes on the environment and
// becomes the command. Variables that a shell cannot have, as the functions that
// bash exports, are given by env.
func environment(l source.Launch) string {
	var b strings.Builder
	var odd []string
	for _, v := range l.Env {
		name, value, ok := strings.Cut(v, "=")
		switch {
		case !ok || name == "" || name == "_":
		case plainName.MatchString(name) && !shellsOwn.MatchString(name):
			fmt.Fprintf(&b, "export %s=%s\n", name, shell.Quote(value))
		default:
			odd = append(odd, v)
		}
	}
	argv := l.Args
	if len(odd) > 0 {
		argv = append(append([]string{"env"}, odd...), argv...)
	}
	b.WriteString("exec " + words(argv) + " </dev/null >>" + shell.Quote(l.Log) + " 2>&1\n")
	return b.String()
}

// Signal sends a signal to the group, if one of the family is in it, and to each
// other one of the family. The host compares when each began right before, so
// that none that took its PID is hit. It gives how many were there.
func (h *Host) Signal(ctx context.Context, all []Process, group int, signal string) (reached int, err error) {
	var b strings.Builder
	b.WriteString(`set -f
is() { read -r s 2>/dev/null <"/proc/$1/stat" || return 1; set -- "$1" "$2" "$3" ${s##*)}
case $4 in Z|X) return 1;; esac; [ "${23}" = "$2" ] && { [ -z "$3" ] || [ "$6" = "$3" ]; } }
n=0; g=
`)
	for _, p := range all {
		if group > 0 && p.Group == group {
			fmt.Fprintf(&b, "is %d %s %d && { g=1; n=$((n+1)); }\n", p.PID, shell.Quote(p.Start), group)
		}
	}
	if group > 0 {
		fmt.Fprintf(&b, "[ -z \"$g\" ] || kill -%s -%d || echo refused\n", signal, group)
	}
	for _, p := range all {
		if group == 0 || p.Group != group {
			fmt.Fprintf(&b, "is %d %s '' && { n=$((n+1)); kill -%s %[1]d || echo refused; }\n", p.PID, shell.Quote(p.Start), signal)
		}
	}
	b.WriteString("echo reached $n\n")
	a, err := h.act(ctx, b.String(), 0)
	if err != nil {
		return 0, err
	}
	said := string(a.Out)
	if _, last, ok := strings.Cut(said, "reached "); !ok {
		return 0, fmt.Errorf("far: %s: the signal was not sent: %.300s", h.name, strings.TrimSpace(a.Said))
	} else if reached, err = strconv.Atoi(strings.TrimSpace(last)); err != nil {
		return 0, fmt.Errorf("far: %s: it answers %.100q", h.name, said)
	}
	if strings.Contains(said, "refused") {
		return reached, fmt.Errorf("far: %s: %.300s: %w", h.name, strings.TrimSpace(a.Said), source.ErrDenied)
	}
	return reached, nil
}

// Gone waits until none of a family lives any more, and gives those that still do.
func (h *Host) Gone(ctx context.Context, family []Process, atMost time.Duration) ([]Process, error) {
	t := time.NewTicker(lookEvery)
	defer t.Stop()
	for end := time.Now().Add(atMost); ; {
		all, err := h.Processes(ctx)
		if err != nil {
			return family, err
		}
		var left []Process
		for _, f := range family {
			for _, p := range all {
				if p.PID == f.PID && p.Start == f.Start && p.State != "Z" && p.State != "X" {
					left = append(left, p)
				}
			}
		}
		if len(left) == 0 || !time.Now().Before(end) {
			return left, nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return left, ctx.Err()
		}
	}
}

const lookEvery = 500 * time.Millisecond
