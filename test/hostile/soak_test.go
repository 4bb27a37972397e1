//go:build unix

package hostile

import (
	"bufio"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// large is a target of one file that is written piece by piece.
func large(name string, fill func(t *testing.T, f *os.File)) func(t *testing.T, dir string) string {
	return func(t *testing.T, dir string) string {
		f, err := os.Create(filepath.Join(dir, name))
		must(t, err)
		fill(t, f)
		must(t, f.Close())
		return f.Name()
	}
}

func sparse(size int64) func(t *testing.T, f *os.File) {
	return func(t *testing.T, f *os.File) {
		_, err := f.WriteString(steps(200))
		must(t, err)
		must(t, f.Truncate(size))
		_, err = f.WriteAt([]byte("\n"+oom), size)
		must(t, err)
	}
}

// again writes a text until there are size bytes.
func again(text string, size int64, end string) func(t *testing.T, f *os.File) {
	return func(t *testing.T, f *os.File) {
		w := bufio.NewWriterSize(f, 1<<20)
		for n := int64(0); n < size; n += int64(len(text)) {
			_, err := w.WriteString(text)
			must(t, err)
		}
		_, err := w.WriteString(end)
		must(t, err)
		must(t, w.Flush())
	}
}

// What takes gigabytes: `make soak`.
func TestLarge(t *testing.T) {
	const wall = 5 * time.Minute
	each(t, []target{
		{name: "10 GB with a hole", soak: true, wall: wall, put: large("a.log", sparse(10<<30)), want: found},
		{name: "100 GB of a hole", soak: true, wall: wall, put: large("a.log", func(t *testing.T, f *os.File) { must(t, f.Truncate(100<<30)) }), want: `not a text log`},
		{name: "one line of 1 GB", soak: true, wall: wall, put: large("a.log", again(strings.Repeat("z", 1<<20), 1<<30, "\n"+oom)), want: found},
		{name: "1 GB of carriage returns", soak: true, wall: wall, put: large("a.log", again(strings.Repeat("\r 10%|# | 1/10 [00:01<00:09]", 1<<15), 1<<30, "\n"+oom)), want: found},
		{name: "5 million tracebacks", soak: true, wall: wall, put: large("a.log", again(strings.Repeat("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: x\n", 1000), 400<<20, oom)), want: `"primary_cause"`},
		{name: "a chain of a million exceptions", soak: true, wall: wall, put: large("a.log", again(strings.Repeat(oom+"\nDuring handling of the above exception, another exception occurred:\n\n", 1000), 300<<20, oom)), want: found},
		{name: "a gzip bomb of 20 GB", soak: true, wall: wall, put: large("a.log.gz", func(t *testing.T, f *os.File) {
			w, err := gzip.NewWriterLevel(f, gzip.BestSpeed)
			must(t, err)
			mb := make([]byte, 1<<20)
			for i := range mb {
				mb[i] = 'A'
			}
			for range 20 << 10 { // no more than 2 GB are unpacked
				_, err := w.Write(mb)
				must(t, err)
			}
			must(t, w.Close())
		}), want: `it unpacks to more than`},
		{name: "errors of a million ranks", soak: true, wall: wall, put: text("a.log", func() string {
			return lines(1_000_000, "[rank%[1]d]: RuntimeError: CUDA error: device-side assert triggered") + oom
		}), want: `"primary_cause"`},
	})
}
