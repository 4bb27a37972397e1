package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/trainmedic/trainmedic/internal/shell"
)

// recorded answers commands with what the tools of real machines printed.
type recorded struct {
	t       *testing.T
	answers map[string]string // the last element of the program and its first argument: the text
	asked   []string
	hangs   bool
}

func (r *recorded) Host() string { return "me@box" }

func (r *recorded) Run(ctx context.Context, argv ...string) ([]byte, error) {
	command := filepath.Base(argv[0]) + " " + strings.Split(argv[1], "=")[0]
	r.asked = append(r.asked, strings.Join(argv, " "))
	if r.hangs {
		<-ctx.Done()
		return nil, fmt.Errorf("shell: %s: %w", argv[0], ctx.Err())
	}
	text, ok := r.answers[command]
	if !ok || strings.Contains(argv[0], "/") {
		return nil, fmt.Errorf("shell: %s: %w", argv[0], shell.ErrNoProgram)
	}
	for line := range strings.Lines(text) { // "unknown FIELD" at the top: this driver does not know it
		field, ok := strings.CutPrefix(strings.TrimSpace(line), "unknown ")
		if !ok {
			break
		}
		text = strings.TrimPrefix(text, line)
		if strings.Contains(argv[1], field) {
			return fmt.Appendf(nil, "Field %q is not a valid field to query.\n\n", field), &shell.Failed{Program: argv[0], Status: 2}
		}
	}
	if strings.HasPrefix(text, "exit ") {
		head, rest, _ := strings.Cut(text, "\n")
		f := &shell.Failed{Program: argv[0]}
		fmt.Sscanf(head, "exit %d", &f.Status)
		return []byte(rest), f
	}
	return []byte(text), nil
}

// TestRecorded reads the answers of tools and holds what is made of them; each
// file has the answers, by command, and "want".
func TestRecorded(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no recordings", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			r := &recorded{t: t, answers: map[string]string{}}
			want := ""
			for _, f := range ar.Files {
				if f.Name == "want" {
					want = string(f.Data)
				} else {
					r.answers[f.Name] = string(f.Data)
				}
			}
			seen, err := (&Reader{Shell: r}).Look(t.Context())
			if diff := cmp.Diff(want, told(seen, err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func told(s Seen, err error) string {
	var b strings.Builder
	if err != nil {
		fmt.Fprintf(&b, "error: %v\n", err)
		return b.String()
	}
	fmt.Fprintf(&b, "by %s\n", s.By)
	for _, d := range s.Devices {
		fmt.Fprintf(&b, "device %d %s %s\n", d.Index, d.UUID, d.Bus)
	}
	for _, f := range s.Facts() {
		fmt.Fprintf(&b, "%s = %s\n", f.Key, f.Value)
	}
	for _, p := range s.Processes {
		fmt.Fprintf(&b, "process %d on %d: %d MiB %q\n", p.PID, p.Device, p.MiB, p.Name)
	}
	return b.String()
}

func TestNoGPU(t *testing.T) {
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		t.Skip("this machine has a GPU")
	}
	r := &Reader{Shell: shell.Local}
	for range 3 { // the first look learns it, and nothing of NVML may be called after
		if s, err := r.Look(t.Context()); !errors.Is(err, ErrNone) || len(s.Devices) > 0 {
			t.Fatalf("%+v, %v", s, err)
		}
	}
}

func TestATool(t *testing.T) {
	t.Run("that is not there is sought once", func(t *testing.T) {
		sh := &recorded{t: t}
		r := &Reader{Shell: sh}
		for range 2 {
			if _, err := r.Look(t.Context()); !errors.Is(err, ErrNone) {
				t.Error(err)
			}
		}
		if len(sh.asked) != len(smiPrograms)+len(rocmPrograms) {
			t.Errorf("%q", sh.asked)
		}
	})
	t.Run("that hangs is left alone", func(t *testing.T) {
		sh := &recorded{t: t, hangs: true}
		r := &Reader{Shell: sh, Limit: time.Millisecond}
		for range 3 {
			if _, err := r.Look(t.Context()); !errors.Is(err, errHung) {
				t.Error(err)
			}
		}
		if len(sh.asked) != 1 {
			t.Errorf("%q", sh.asked)
		}
	})
	t.Run("is not asked when nobody waits", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, sh := range []shell.Shell{&recorded{t: t, hangs: true}, shell.Local} {
			if _, err := (&Reader{Shell: sh}).Look(ctx); !errors.Is(err, context.Canceled) && !errors.Is(err, ErrNone) {
				t.Error(err)
			}
		}
	})
}

func FuzzOutput(f *testing.F) {
	for _, s := range []string{"index, uuid\n0, GPU-1", "GPU-1, 12, [N/A], a,b", "{\"card0\": {\"GPU use (%)\": \"0\"}}", "1\tpython3\t1\t1048576\t0\tUNKNOWN"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		devices := append(readDevices(out), readCards(out)...)
		for _, v := range (Seen{Devices: devices}).Facts() {
			if v.Value == "" || strings.ContainsAny(v.Key, "\n") {
				t.Errorf("%+v", v)
			}
		}
		readProcesses(out, devices)
		readROCmProcesses(out, 0)
	})
}
