//go:build unix

package hostile

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// meanwhile does something again and again until the test ends, and before it
// begins at least once.
func meanwhile(t *testing.T, f func(round int)) {
	t.Helper()
	f(0)
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
				f(i)
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done })
}

// growing is a log that grows by rate bytes a second, up to most.
func growing(t *testing.T, path string, rate, most int64) {
	t.Helper()
	write(t, path, oom)
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	part := []byte(strings.Repeat("waiting for the next batch of the data loader, which is slow today\n", 1<<14)) // 1 MB
	began, wrote := time.Now(), int64(0)
	meanwhile(t, func(int) {
		if ahead := time.Duration(float64(wrote)/float64(rate)*1e9) - time.Since(began); ahead > 0 {
			<-time.After(ahead)
		}
		if wrote < most {
			n, _ := f.Write(part)
			wrote += int64(n)
		}
	})
}

// Targets that change while they are looked at.
func TestMoving(t *testing.T) {
	each(t, []target{
		{name: "a log that grows at 100 MB a second", put: func(t *testing.T, dir string) string {
			p := filepath.Join(dir, "a.log")
			growing(t, p, 100<<20, 256<<20)
			return p
		}, want: found},
		{name: "a log that grows at 500 MB a second", soak: true, put: func(t *testing.T, dir string) string {
			p := filepath.Join(dir, "a.log")
			growing(t, p, 500<<20, 6<<30)
			return p
		}, want: found, wall: 3 * time.Minute},
		{name: "a log that is emptied and grows", put: func(t *testing.T, dir string) string {
			p := filepath.Join(dir, "a.log")
			long := steps(100_000)
			meanwhile(t, func(int) { _ = os.WriteFile(p, []byte(long), 0o644); _ = os.Truncate(p, 1000) })
			return p
		}, want: `"primary_cause"|"error"`},
		{name: "a log that other files take the name of", put: func(t *testing.T, dir string) string {
			p := filepath.Join(dir, "a.log")
			meanwhile(t, func(int) { _ = os.WriteFile(p+".new", []byte(steps(20_000)), 0o644); _ = os.Rename(p+".new", p) })
			return p
		}, want: `"primary_cause"|"error"`},
		{name: "a log that comes and goes", put: func(t *testing.T, dir string) string {
			p := filepath.Join(dir, "a.log")
			meanwhile(t, func(int) { _ = os.WriteFile(p, []byte(steps(5_000)), 0o644); _ = os.Remove(p) })
			return p
		}, want: `"primary_cause"|"error"|no such file`},
		{name: "a log that becomes a folder and a FIFO", put: func(t *testing.T, dir string) string {
			p := filepath.Join(dir, "a.log")
			meanwhile(t, func(i int) {
				_ = os.Remove(p)
				switch i % 3 {
				case 0:
					_ = os.WriteFile(p, []byte(steps(5_000)), 0o644)
				case 1:
					_ = os.Mkdir(p, 0o755)
				default:
					_ = syscall.Mkfifo(p, 0o644)
				}
			})
			return p
		}, want: `"primary_cause"|"error"|no such file|folder|FIFO`, exits: []int{0, 1, 2, 3}, once: true},
		{name: "a folder in which files come and go", put: besides(func(t *testing.T, dir string) {
			names := []string{"rank1.log", "config.json", "x/y/rank2.log", "model.pt", "m.csv", "step_5/.metadata"}
			meanwhile(t, func(int) {
				for _, n := range names {
					p := filepath.Join(dir, n)
					_ = os.MkdirAll(filepath.Dir(p), 0o755)
					_ = os.WriteFile(p, []byte(steps(500)), 0o644)
				}
				for _, n := range names {
					_ = os.Remove(filepath.Join(dir, n))
				}
				_ = os.RemoveAll(filepath.Join(dir, "x"))
			})
		}), want: found},
		{name: "permissions that change", put: besides(func(t *testing.T, dir string) {
			meanwhile(t, func(i int) { _ = os.Chmod(filepath.Join(dir, "train.log"), os.FileMode(0o644*(i%2))) })
		}), want: `"primary_cause"|"error"`},
		{name: "a folder that vanishes", put: func(t *testing.T, dir string) string {
			run := filepath.Join(dir, "run")
			meanwhile(t, func(int) {
				_ = os.MkdirAll(run, 0o755)
				_ = os.WriteFile(filepath.Join(run, "train.log"), []byte(steps(50)+oom), 0o644)
				_ = os.RemoveAll(run)
			})
			return run
		}, want: `"primary_cause"|"error"|no such file|trainmedic check`, exits: []int{0, 1, 2, 3}, once: true},
	})
}

// piped is a standard input that feed writes to, until its reader is gone.
func piped(feed func(w io.Writer)) func() (*os.File, func()) {
	return func() (*os.File, func()) {
		r, w, err := os.Pipe()
		if err != nil {
			panic(err) // no descriptors left: no test can go on
		}
		var done sync.WaitGroup
		done.Go(func() {
			feed(w)
			w.Close()
		})
		return r, func() { r.Close(); done.Wait() }
	}
}

func dash(*testing.T, string) string { return "-" }

// What comes by standard input.
func TestPiped(t *testing.T) {
	each(t, []target{
		{name: "nothing", put: dash, stdin: piped(func(io.Writer) {}), want: `is empty`, once: true},
		{name: "a log of 500 MB", put: dash, once: true, stdin: piped(func(w io.Writer) {
			part := strings.Repeat("loading shard of the data set from the object store\n", 20_000)
			for range 500 {
				io.WriteString(w, part)
			}
			io.WriteString(w, oom)
		}), want: found},
		{name: "a gzip bomb", put: dash, once: true, stdin: piped(func(w io.Writer) { io.WriteString(w, bomb(many(1<<10))) }), want: `"primary_cause"`},
		{name: "noise", put: dash, once: true, stdin: piped(func(w io.Writer) { io.WriteString(w, noise(5<<20)) }), want: `not a text log|"primary_cause"`},
		{name: "byte by byte", put: dash, once: true, stdin: piped(func(w io.Writer) {
			for _, c := range []byte(steps(100) + oom) {
				w.Write([]byte{c})
			}
		}), want: found},
	})
}
