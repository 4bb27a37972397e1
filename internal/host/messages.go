package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/kernel"
	"github.com/trainmedic/trainmedic/internal/run"
)

// messages reads what the kernel recorded since the last time it was asked, of
// what concerns the run.
func (l *look) messages(ctx context.Context) {
	if l.silent != nil {
		l.withheld()
		return
	}
	asked, _ := time.Parse(time.RFC3339Nano, l.since[keyAsked]) // the zero time at the first look
	if !l.run.Urgent && l.obs.At.Sub(asked) < askKernel || l.run.Started.IsZero() {
		return
	}
	var last, size, lines int64
	_, err := fmt.Sscan(l.since[keyKernel], &last, &size, &lines)
	from := l.run.Started.Add(-time.Second) // its time is told in whole seconds
	if err == nil {
		from = time.Unix(0, last)
	}
	all, err := l.kernel.Since(ctx, from)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		l.silent = err
		l.withheld()
		return
	}
	l.obs.Next[keyAsked] = l.obs.At.Format(time.RFC3339Nano)
	if len(all) == 0 {
		return
	}
	last = all[len(all)-1].At.UnixNano()
	c := kernel.Concern{PIDs: l.pids, Cgroup: l.run.Cgroup, Disks: disks(l.run.Dirs)}
	if b := l.obs.Next[keyBuses]; b != "" {
		c.Buses = strings.Fields(b)
	}
	var text strings.Builder
	kept := c.Keep(all)
	for _, m := range kept[:min(len(kept), maxMessages)] {
		text.WriteString(m.String() + "\n")
	}
	if text.Len() > 0 {
		l.obs.Streams = append(l.obs.Streams, Text("dmesg", "dmesg", text.String(), size, int(lines)+1))
	}
	l.obs.Next[keyKernel] = fmt.Sprint(last, " ", size+int64(text.Len()), " ", lines+int64(strings.Count(text.String(), "\n")))
}

// withheld is the gap of messages that may not be read; a machine that has no
// program for them has none.
func (l *look) withheld() {
	if errors.Is(l.silent, kernel.ErrNone) {
		return
	}
	l.gap("the kernel's messages (processes killed for want of memory, faults of GPUs and disks)", l.silent.Error(),
		"the output of: sudo dmesg -T (put it beside the log); or sudo sysctl kernel.dmesg_restrict=0, or add the user to the group adm")
}

// told adds lines to the stream of what a tool says, when it says something else
// than at the last look.
func (l *look) told(name string, lines []string) {
	text := strings.Join(lines, "\n")
	key, at := "host told "+name, "host at "+name
	if l.obs.Next[key] = text; text == "" || l.since[key] == text {
		return
	}
	var b strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		b.WriteString(l.obs.At.UTC().Format(time.RFC3339) + " " + line + "\n")
	}
	var size, before int64
	_, _ = fmt.Sscan(l.since[at], &size, &before) // nothing before the first ones
	l.obs.Streams = append(l.obs.Streams, Text(name, name, b.String(), size, int(before)+1))
	l.obs.Next[at] = fmt.Sprint(size+int64(b.Len()), " ", before+int64(strings.Count(b.String(), "\n")))
}

// Text is the stream of new text, at an offset and from a line on.
func Text(name, kind, text string, offset int64, line int) run.Stream {
	return run.Stream{
		Name: name, Kind: kind, Rank: run.NoRank, Size: int64(len(text)), Live: true, Offset: offset, FirstLine: line,
		Open: func(ctx context.Context) (io.ReadCloser, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return io.NopCloser(strings.NewReader(text)), nil
		},
	}
}
