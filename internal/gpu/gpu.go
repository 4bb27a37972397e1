// Package gpu reads what the GPUs of a machine show: by NVML on this machine
// where its driver and library are there, else by nvidia-smi or rocm-smi, here or
// over a shell. A machine without a GPU is no error; a tool that hangs or fails is
// told, since that is what a sick GPU looks like.
package gpu

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/shell"
)

// ErrNone says that no GPU can be seen: neither a driver nor a tool is there.
var ErrNone = errors.New("no GPU seen")

// Device is one GPU. Readings are by the names of run.GPUUtil and the others,
// without the dot; what the driver does not tell is left out.
type Device struct {
	Index    int
	UUID     string
	Bus      string // its PCI address, "0000:3b:00.0"
	Readings []Reading
	Fault    string // what a driver says of a device that does not answer: "GPU is lost"
}

// Reading is one value of a device.
type Reading struct{ Name, Value string }

// Process is one program that has memory on a device.
type Process struct {
	Device int // its index
	PID    int // in the name space of the driver: that of the host, for a container
	Name   string
	MiB    int64 // -1 where the driver does not tell
}

// Seen is one look.
type Seen struct {
	By        string // "nvml", "nvidia-smi", "rocm-smi"
	Devices   []Device
	Processes []Process
}

// Reader asks the GPUs of one machine. It remembers which tool answers, and
// leaves one alone that hung: each more would be another process that nobody can
// end.
type Reader struct {
	Shell shell.Shell
	Limit time.Duration // how long a tool may take; 0 is 5 s

	program string // the tool that answered
	none    bool
	hung    time.Time
}

const (
	patience  = 5 * time.Second
	afterHang = 10 * time.Minute
)

// Look reads all devices. The error is ErrNone, the context's, or says in words
// what is wrong with the tool or the driver.
func (r *Reader) Look(ctx context.Context) (Seen, error) {
	switch {
	case r.none:
		return Seen{}, ErrNone
	case !r.hung.IsZero() && time.Since(r.hung) < afterHang:
		return Seen{}, errHung
	}
	if r.Shell == shell.Local {
		seen, err := byNVML(ctx, r.limit())
		if err == nil || errors.Is(err, errHung) {
			return seen, r.note(err)
		}
	}
	seen, err := r.bySMI(ctx)
	if errors.Is(err, shell.ErrNoProgram) {
		seen, err = r.byROCm(ctx)
	}
	if errors.Is(err, shell.ErrNoProgram) {
		r.none = true
		return Seen{}, ErrNone
	}
	return seen, r.note(err)
}

func (r *Reader) note(err error) error {
	if errors.Is(err, errHung) {
		r.hung = time.Now()
	}
	return err
}

var errHung = errors.New("the driver did not answer in time, as it does when a GPU is stuck")

func (r *Reader) limit() time.Duration {
	if r.Limit > 0 {
		return r.Limit
	}
	return patience
}

// ask runs the first of the programs that is there.
func (r *Reader) ask(ctx context.Context, programs []string, args ...string) ([]byte, error) {
	if r.program != "" {
		programs = []string{r.program}
	}
	for _, p := range programs {
		short, cancel := context.WithTimeout(ctx, r.limit())
		out, err := r.Shell.Run(short, append([]string{p}, args...)...)
		cancel()
		switch {
		case errors.Is(err, shell.ErrNoProgram):
			continue
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.Is(err, context.DeadlineExceeded):
			return nil, fmt.Errorf("gpu: %s: %w", p, errHung)
		}
		r.program = p
		return out, err
	}
	return nil, fmt.Errorf("gpu: %s: %w", programs[0], shell.ErrNoProgram)
}

// refusal is a tool's own words for why it tells nothing.
func refusal(out []byte, err error) error {
	text := strings.TrimSpace(string(out))
	var failed *shell.Failed
	if errors.As(err, &failed) && text == "" {
		text = strings.TrimSpace(failed.Stderr)
	}
	if text == "" {
		return err
	}
	return fmt.Errorf("gpu: %s", strings.Join(strings.Fields(text), " "))
}

// Key is the fact of one reading of a device: run.GPUUtil and the others.
func Key(index int, name string) string {
	return run.GPU + strconv.Itoa(index) + name
}

// Facts are the readings of a look.
func (s Seen) Facts() []run.Fact {
	var out []run.Fact
	for _, d := range s.Devices {
		for _, v := range d.Readings {
			out = append(out, run.Fact{Key: Key(d.Index, "."+v.Name), Value: v.Value})
		}
		if d.Fault != "" {
			out = append(out, run.Fact{Key: Key(d.Index, run.GPUFault), Value: d.Fault})
		}
	}
	return out
}

func (d *Device) set(name, value string) {
	if value != "" {
		d.Readings = append(d.Readings, Reading{name, value})
	}
}
