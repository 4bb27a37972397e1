//go:build unix

// Package hostile runs the real program on what a hostile or careless person
// would give it. Each target ends in bounded time and memory, never with a stack
// trace, and with a right answer or an honest one.
package hostile

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"
)

// Bounds of one call of the program. The wall time allows for a machine that is
// busy with other tests; what is measured stands in docs/RELIABILITY.md.
const (
	maxWall   = 2 * time.Minute
	maxMemory = 300 << 10 // KB of resident memory at the peak
)

// soak is set by `make soak`: targets that take gigabytes or minutes run too.
var soak = os.Getenv("TRAINMEDIC_SOAK") != ""

// many is n in a soak and a fifth of it otherwise: still far beyond what is kept.
func many(n int) int {
	if soak {
		return n
	}
	return n / 5
}

// target is one nasty thing to look at.
type target struct {
	name string
	// put makes it below dir and gives what to pass to the program. What it does
	// meanwhile it MUST end by t.Cleanup.
	put   func(t *testing.T, dir string) string
	want  string   // an expression that the check's output matches
	args  []string // of check, beside --json
	stdin func() (in *os.File, end func())
	soak  bool          // only in a soak
	wall  time.Duration // maxWall when 0
	exits []int         // of check; 0, 1 and 3 when nil
	once  bool          // the check alone: a watch of it, or a tool, has nothing to add
}

// program is the built binary; it is built without the race detector, whose
// memory is not the program's.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "trainmedic-hostile-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "trainmedic")
	out, err := exec.Command("go", "build", "-o", path, "github.com/trainmedic/trainmedic/cmd/trainmedic").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

func TestMain(m *testing.M) {
	flag.Parse()
	if slowly {
		fmt.Println("the program is built without the race detector in any case: make test runs this suite without it")
		os.Exit(0)
	}
	code := m.Run()
	if path, err := program(); err == nil && !testing.Short() {
		_ = os.RemoveAll(filepath.Dir(path))
	}
	fmt.Print(figures.String())
	os.Exit(code)
}

// outcome is what one call of the program did.
type outcome struct {
	out    string
	exit   int
	wall   time.Duration
	memory int64 // KB
}

// call runs the program and ends it when it takes longer than wall.
func call(t *testing.T, wall time.Duration, stdin *os.File, args ...string) outcome {
	t.Helper()
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), wall)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if stdin != nil {
		cmd.Stdin = stdin
	}
	lean()
	began := time.Now()
	err = cmd.Run()
	o := outcome{out: out.String(), wall: time.Since(began)}
	if ctx.Err() != nil {
		t.Fatalf("%v did not end within %v; it said: %.2000s", args, wall, o.out)
	}
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		o.exit = failed.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	if u, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		o.memory = u.Maxrss
	}
	figures.note(t.Name(), o)
	return o
}

var (
	trace  = regexp.MustCompile(`(?m)^panic: |^goroutine \d+|runtime error|fatal error: |\.go:\d+ \+0x`)
	escape = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f]|\u009b|\u202e")
)

// sound wants an outcome that any target may have.
func (o outcome) sound(t *testing.T, what string, exits ...int) {
	t.Helper()
	if m := trace.FindString(o.out); m != "" {
		t.Errorf("%s: a stack trace (%q): %.3000s", what, m, o.out)
	}
	if m := escape.FindString(o.out); m != "" {
		t.Errorf("%s: %q reached the output", what, m)
	}
	if !utf8.ValidString(o.out) {
		t.Errorf("%s: the output is not UTF-8", what)
	}
	if len(o.out) > 4<<20 {
		t.Errorf("%s: %d bytes of output", what, len(o.out))
	}
	if o.memory > maxMemory {
		t.Errorf("%s: %d MB of memory, more than %d", what, o.memory>>10, maxMemory>>10)
	}
	if slices.Contains(exits, o.exit) {
		return
	}
	t.Errorf("%s: exit status %d, want one of %v: %.2000s", what, o.exit, exits, o.out)
}

// each runs the program on every target of a table, in the ways in which it can
// be looked at.
func each(t *testing.T, targets []target) {
	for i, h := range targets {
		t.Run(h.name, func(t *testing.T) {
			if h.soak && !soak {
				t.Skip("make soak runs it")
			}
			dir := t.TempDir()
			name := h.put(t, dir)
			wall := max(h.wall, maxWall)
			var in *os.File
			if h.stdin != nil {
				var end func()
				in, end = h.stdin()
				defer end()
			}
			o := call(t, wall, in, append([]string{"check", "--json"}, append(h.args, name)...)...)
			if h.exits == nil {
				h.exits = []int{0, 1, 3}
			}
			o.sound(t, "check", h.exits...)
			if !regexp.MustCompile(`(?s)` + h.want).MatchString(o.out) {
				t.Errorf("check says nothing like %q: %.4000s", h.want, o.out)
			}
			if h.once || t.Failed() || i%3 != 0 && !soak { // the rest of the ways shares its readers with check
				return
			}
			o = call(t, wall, nil, "watch", "--once", "--out-dir", t.TempDir(), name)
			o.sound(t, "watch --once", 0, 1, 3)
			s := server(t)
			for _, tool := range []string{"tail_log", "extract_metrics", "fetch_target"} {
				s.tool(t, tool, name)
			}
		})
	}
}

// book keeps what calls took.
type book struct {
	mu          sync.Mutex
	calls       int
	slow, large outcome
	slowN, fatN string
}

var figures book

func (b *book) note(name string, o outcome) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if o.wall > b.slow.wall {
		b.slow, b.slowN = o, name
	}
	if o.memory > b.large.memory {
		b.large, b.fatN = o, name
	}
}

// String is the line for docs/RELIABILITY.md.
func (b *book) String() string {
	if b.calls == 0 {
		return ""
	}
	return fmt.Sprintf("%d calls of the program; the longest %.1f s (%s), the most memory %d MB (%s)\n", b.calls, b.slow.wall.Seconds(), b.slowN, b.large.memory>>10, b.fatN)
}

// lean makes this process small: Linux counts the peak of the process that starts
// a program as the program's.
func lean() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // the peak begins anew
}

// write makes a file with folders above it.
func write(t *testing.T, path string, parts ...string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Join(parts, "")), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// text is a target of one file.
func text(name string, parts func() string) func(t *testing.T, dir string) string {
	return func(t *testing.T, dir string) string { return write(t, filepath.Join(dir, name), parts()) }
}

// folder is a target of a run's folder: a whole log that ends with oom, and one
// nasty file beside it.
func folder(name string, content func() string) func(t *testing.T, dir string) string {
	return func(t *testing.T, dir string) string {
		write(t, filepath.Join(dir, "train.log"), steps(20), oom)
		write(t, filepath.Join(dir, name), content())
		return dir
	}
}

// oom is a failure that has to be found whatever lies around it.
const oom = `Traceback (most recent call last):
  File "train.py", line 10, in <module>
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free.
`

// found is the class of oom in an artifact.
const found = `"primary_cause": "oom"`

// steps are lines of a run that goes well.
func steps(n int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "step %d/%d loss=%.4f lr=1e-4\n", i, 10*n, 1+1/float64(i))
	}
	return b.String()
}
