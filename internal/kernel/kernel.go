// Package kernel reads what the kernel of a machine recorded while a run ran:
// processes killed for want of memory, faults of GPUs and disks. It asks dmesg,
// and journalctl where dmesg may not be read or does not go back far enough.
package kernel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/shell"
)

// ErrNone says that the machine has neither dmesg nor journalctl.
var ErrNone = errors.New("neither dmesg nor journalctl is there")

// Message is one line of the kernel's log.
type Message struct {
	At   time.Time
	Text string // without the time
}

// String is the line as dmesg --time-format iso writes it.
func (m Message) String() string {
	return m.At.UTC().Format("2006-01-02T15:04:05,000000+00:00") + " " + m.Text
}

// Reader reads the messages of one machine.
type Reader struct {
	Shell shell.Shell
	Limit time.Duration // how long a program may take; 0 is 5 s

	boot time.Time
}

const patience = 5 * time.Second

// Since lists the messages after a moment, oldest first. The error is ErrNone, the
// context's, or what the programs said instead: most often that this user may not
// read them.
func (r *Reader) Since(ctx context.Context, since time.Time) ([]Message, error) {
	ring, ringErr := r.dmesg(ctx)
	if ringErr == nil && len(ring) > 0 && (!ring[0].At.After(since) || ring[0].At.Sub(r.boot) < time.Minute) {
		return after(ring, since), nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	journal, err := r.journal(ctx, since)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil && len(journal) > 0:
		return after(journal, since), nil
	case ringErr == nil:
		return after(ring, since), nil
	case errors.Is(ringErr, shell.ErrNoProgram) && err == nil:
		return nil, nil
	case errors.Is(ringErr, shell.ErrNoProgram) && errors.Is(err, shell.ErrNoProgram):
		return nil, ErrNone
	}
	return nil, refusal(ringErr)
}

func after(all []Message, since time.Time) []Message {
	for i, m := range all {
		if m.At.After(since) {
			return all[i:]
		}
	}
	return nil
}

// refusal is a program's own words.
func refusal(err error) error {
	var failed *shell.Failed
	if errors.As(err, &failed) && strings.TrimSpace(failed.Stderr) != "" {
		line, _, _ := strings.Cut(strings.TrimSpace(failed.Stderr), "\n")
		return errors.New(line)
	}
	return err
}

func (r *Reader) ask(ctx context.Context, argv ...string) ([]byte, error) {
	limit := r.Limit
	if limit <= 0 {
		limit = patience
	}
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	out, err := r.Shell.Run(short, argv...)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("%s did not answer within %s", argv[0], limit)
	}
	return out, err
}

func (r *Reader) dmesg(ctx context.Context) ([]Message, error) {
	if r.boot.IsZero() {
		out, err := r.ask(ctx, "cat", "/proc/uptime")
		if err != nil {
			return nil, err
		}
		first, _, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
		up, err := strconv.ParseFloat(first, 64)
		if err != nil {
			return nil, fmt.Errorf("/proc/uptime says %.40q", out)
		}
		r.boot = time.Now().Add(-time.Duration(up * float64(time.Second)))
	}
	out, err := r.ask(ctx, "dmesg")
	if err != nil {
		return nil, err
	}
	return readRing(out, r.boot), nil
}

var ringTime = regexp.MustCompile(`^(?:<\d+>)?\[ *(\d+\.\d+)\](?:\[ *[CT]\d+\])? ?`)

// readRing reads dmesg's output: seconds since the start of the machine. Lines of
// a kernel that writes no times cannot be told from those before the run, and are
// left out.
func readRing(out []byte, boot time.Time) (all []Message) {
	for line := range bytes.Lines(out) {
		m := ringTime.FindSubmatch(line)
		if m == nil {
			continue
		}
		at, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil || at > 1e10 {
			continue
		}
		all = append(all, Message{boot.Add(time.Duration(at * float64(time.Second))), clean(line[len(m[0]):])})
	}
	return all
}

func (r *Reader) journal(ctx context.Context, since time.Time) ([]Message, error) {
	out, err := r.ask(ctx, "journalctl", "-k", "-q", "--no-pager", "-o", "short-unix", "--since", "@"+strconv.FormatInt(since.Unix(), 10))
	if err != nil {
		return nil, err
	}
	return readJournal(out), nil
}

var journalLine = regexp.MustCompile(`^(\d{9,11})\.(\d{6}) \S+ kernel: `)

// readJournal reads journalctl -o short-unix.
func readJournal(out []byte) (all []Message) {
	for line := range bytes.Lines(out) {
		m := journalLine.FindSubmatch(line)
		if m == nil {
			continue
		}
		sec, _ := strconv.ParseInt(string(m[1]), 10, 64) // both are digits
		usec, _ := strconv.ParseInt(string(m[2]), 10, 64)
		all = append(all, Message{time.Unix(sec, usec*1000), clean(line[len(m[0]):])})
	}
	return all
}

func clean(line []byte) string {
	return strings.ToValidUTF8(strings.TrimRight(string(line), "\r\n"), "?")
}
