package ps

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/shell"
)

// process is a row of ps.
type process struct {
	pid, ppid int
	state     string // its first letter: R, S, D, T, Z
	age       time.Duration
	rss       int64
	cpu       time.Duration
	args      string
}

// list are all processes of a machine. The columns are those that every ps knows:
// that of procps, of a BSD, of busybox, which takes no -A.
func list(ctx context.Context, sh shell.Shell) ([]process, error) {
	const columns = "pid,ppid,stat,etime,rss,time,args"
	out, err := sh.Run(ctx, "ps", "-A", "-o", columns)
	if _, failed := errors.AsType[*shell.Failed](err); failed { // it does not take -A
		out, err = sh.Run(ctx, "ps", "-o", columns)
	}
	if err != nil {
		return nil, err
	}
	return read(out), nil
}

func read(out []byte) (all []process) {
	for line := range bytes.Lines(out) {
		f := strings.Fields(string(line))
		if len(f) < 7 {
			continue
		}
		pid, err := strconv.Atoi(f[0])
		ppid, errParent := strconv.Atoi(f[1])
		if err != nil || errParent != nil || pid <= 0 {
			continue // the heading
		}
		all = append(all, process{pid: pid, ppid: ppid, state: f[2][:1], age: clock(f[3]), rss: size(f[4]), cpu: clock(f[5]), args: argsOf(string(line))})
	}
	return all
}

// argsOf is the line behind its first six columns, with the blanks that it has.
func argsOf(line string) string {
	for range 6 {
		line = strings.TrimLeft(line, " \t")
		i := strings.IndexAny(line, " \t")
		if i < 0 {
			return ""
		}
		line = line[i:]
	}
	return strings.TrimSpace(line)
}

// clock reads [[days-]hours:]minutes:seconds; a BSD adds hundredths.
func clock(s string) time.Duration {
	days, rest, ok := strings.Cut(s, "-")
	if !ok {
		days, rest = "0", s
	}
	n, err := strconv.Atoi(days)
	if err != nil || n < 0 || n > 1e5 {
		return 0
	}
	d := time.Duration(n) * 24 * time.Hour
	rest, _, _ = strings.Cut(rest, ".")
	unit := time.Second
	parts := strings.Split(rest, ":")
	for i := len(parts) - 1; i >= 0 && unit <= time.Hour; i-- {
		n, err := strconv.Atoi(parts[i])
		if err != nil || n < 0 || n > 1e6 {
			return 0
		}
		d += time.Duration(n) * unit
		unit *= 60
	}
	return d
}

// size reads KB; busybox writes 12m and 1.2g.
func size(s string) int64 {
	unit := int64(1 << 10)
	switch {
	case strings.HasSuffix(s, "m"):
		unit = 1 << 20
	case strings.HasSuffix(s, "g"):
		unit = 1 << 30
	}
	n, err := strconv.ParseFloat(strings.TrimRight(s, "mgk"), 64)
	if err != nil || n < 0 || n > 1e12 {
		return 0
	}
	return int64(n * float64(unit))
}

// below is a process and all below it, parents first, bounded.
func below(all []process, root int) (family []process) {
	for _, p := range all {
		if p.pid == root {
			family = append(family, p)
		}
	}
	for i := 0; i < len(family) && len(family) < maxFamily; i++ {
		for _, p := range all {
			if p.ppid == family[i].pid && p.pid != p.ppid && len(family) < maxFamily {
				family = append(family, p)
			}
		}
	}
	return family
}

const maxFamily = 512
