package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/report"
)

// begun is a command that runs.
type begun struct {
	t        *testing.T
	c        *exec.Cmd
	in       io.WriteCloser
	out, err said
	over     chan struct{}
}

func begin(t *testing.T, out *os.File, args ...string) *begun {
	t.Helper()
	b := &begun{t: t, c: exec.Command("trainmedic", args...), over: make(chan struct{})}
	b.c.Dir, b.c.Stderr, b.c.Env = t.TempDir(), &b.err, append(os.Environ(), "XDG_STATE_HOME="+t.TempDir())
	if b.c.Stdout = &b.out; out != nil {
		b.c.Stdout = out
	}
	b.c.WaitDelay = time.Second
	var err error
	if b.in, err = b.c.StdinPipe(); err == nil {
		err = b.c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() { b.c.Wait(); close(b.over) }()
	t.Cleanup(func() { b.c.Process.Kill(); <-b.over })
	return b
}

func (b *begun) says(what string) bool {
	return strings.Contains(b.out.String()+b.err.String(), what)
}

// ends wants the command to end soon, and returns its exit status, -1 for one that
// a signal ended.
func (b *begun) ends() int {
	b.t.Helper()
	select {
	case <-b.over:
	case <-time.After(3 * time.Second):
		b.t.Fatalf("it does not end: %s%s", b.out.String(), b.err.String())
	}
	if b.says("goroutine ") || b.says("panic") {
		b.t.Errorf("a stack trace: %s", b.err.String())
	}
	return b.c.ProcessState.ExitCode()
}

func growing(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	for i := range 50 {
		fmt.Fprintf(&b, "step %d/1000 loss=2.5 lr=1e-4\n", i+1)
	}
	path := filepath.Join(t.TempDir(), "run.log")
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestASignalEndsAWatch: with its summary and its artifact, and a second one at
// once.
func TestASignalEndsAWatch(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		w := begin(t, nil, "watch", growing(t), "--interval", "600")
		until(t, func() bool { return w.says("next poll in") })
		w.c.Process.Signal(sig)
		if code := w.ends(); code != 0 || !w.says("the watch was interrupted; the run goes on") {
			t.Errorf("%v: exit %d: %s%s", sig, code, w.out.String(), w.err.String())
		}
		if _, err := os.Stat(filepath.Join(w.c.Dir, report.WatchArtifact)); err != nil {
			t.Error(err)
		}
	}
	c := begin(t, nil, "check", "-")                                  // standard input does not end
	io.WriteString(c.in, strings.Repeat("step 1/10 loss=1\n", 1<<13)) // more than a pipe holds: it reads
	c.c.Process.Signal(syscall.SIGINT)
	if code := c.ends(); code != 1 || !c.says("canceled") {
		t.Errorf("check: exit %d: %s", code, c.err.String())
	}
	w := begin(t, nil, "watch", "--interval", "1", "--notify", "sleep 20", "--", "sh", "-c", "echo RuntimeError: CUDA out of memory.; exit 1")
	until(t, func() bool { return w.says("ANOMALY") }) // now the person is told, which takes long
	w.c.Process.Signal(syscall.SIGINT)
	time.Sleep(200 * time.Millisecond) // the first one has arrived
	w.c.Process.Signal(syscall.SIGINT)
	if code := w.ends(); code != -1 {
		t.Errorf("a second SIGINT: exit %d", code)
	}
}

const hello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"v","version":"1"},"capabilities":{}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

func poll(id int, log, cursor string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"monitor_run","arguments":{"target":%q,"cursor":%q,"wait_seconds":45}}}`+"\n", id, log, cursor)
}

// TestALongPollEndsWithItsServer: whatever ends a server, one that waits for news
// gets what is known at once.
func TestALongPollEndsWithItsServer(t *testing.T) {
	for name, end := range map[string]func(*begun){
		"standard input ends": func(b *begun) { b.in.Close() },
		"SIGTERM":             func(b *begun) { b.c.Process.Signal(syscall.SIGTERM) },
		"SIGINT":              func(b *begun) { b.c.Process.Signal(syscall.SIGINT) },
	} {
		t.Run(name, func(t *testing.T) {
			b, log := begin(t, nil, "serve"), growing(t)
			io.WriteString(b.in, hello+poll(1, log, ""))
			until(t, func() bool { return b.says(`"id":1,`) })
			io.WriteString(b.in, poll(2, log, "1"))
			time.Sleep(300 * time.Millisecond) // it waits
			end(b)
			if code := b.ends(); code != 0 || !b.says(`"id":2,`) || !b.says("Step 50/1000") {
				t.Errorf("exit %d: %s%s", code, b.out.String(), b.err.String())
			}
		})
	}
	t.Run("before the first look", func(t *testing.T) {
		b, log := begin(t, nil, "serve"), growing(t)
		io.WriteString(b.in, hello+poll(1, log, ""))
		b.in.Close()
		if code := b.ends(); code != 0 || !b.says("Step 50/1000") {
			t.Errorf("exit %d: %s%s", code, b.out.String(), b.err.String())
		}
	})
	t.Run("standard output closes", func(t *testing.T) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		b, log := begin(t, w, "serve"), growing(t)
		w.Close()
		io.WriteString(b.in, hello+poll(1, log, ""))
		if _, err := r.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		r.Close()
		io.WriteString(b.in, poll(2, log, ""))
		if code := b.ends(); code != 0 {
			t.Errorf("exit %d: %s", code, b.err.String())
		}
	})
}
