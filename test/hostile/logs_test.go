//go:build unix

package hostile

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// noise is bytes of no meaning, the same each time.
func noise(n int) string {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return string(b)
}

// lines is n lines made by a format that takes the number of the line.
func lines(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

// packed is a text in gzip.
func packed(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(text))
	w.Close()
	return b.String()
}

// bomb is n megabytes of one letter, in gzip.
func bomb(n int) string {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	mb := bytes.Repeat([]byte("A"), 1<<20)
	for range n {
		w.Write(mb)
	}
	w.Close()
	return b.String()
}

// zst is n megabytes of one letter in zstd, with a window of 2^27 bytes.
func zst(n int, tail string) string {
	var b bytes.Buffer
	w, _ := zstd.NewWriter(&b, zstd.WithWindowSize(1<<27))
	mb := bytes.Repeat([]byte("B"), 1<<20)
	for range n {
		w.Write(mb)
	}
	w.Write([]byte(tail))
	w.Close()
	return b.String()
}

// invalid has every form of bytes that is not UTF-8, one a line.
func invalid() string {
	var b strings.Builder
	for c := 0x80; c < 0x100; c++ {
		fmt.Fprintf(&b, "step %d loss=1 %c\n", c, 'x')
		b.WriteString("lone " + string([]byte{byte(c)}) + "\n")
	}
	for _, s := range []string{
		"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
		"\xf8\x88\x80\x80\x80", "\xfc\x84\x80\x80\x80\x80", "\xe2\x82", "\xf0\x9f\x92", "\xfe\xff", "\xff\xfe\xff", "\xef\xbf\xbe", "\xed\xa0\x80\xed\xb0\x80",
	} {
		b.WriteString("Error: bad " + s + " here\n" + s + "\n")
	}
	return b.String()
}

func TestLogs(t *testing.T) {
	each(t, []target{
		{name: "empty", put: text("a.log", func() string { return "" }), want: `unknown.*is empty`},
		{name: "one newline", put: text("a.log", func() string { return "\n" }), want: `"primary_cause"`},
		{name: "spaces", put: text("a.log", func() string { return strings.Repeat(" ", 5<<20) }), want: `"primary_cause"`},
		{name: "blank lines", put: text("a.log", func() string { return strings.Repeat("\n", 5<<20) + oom }), want: found},
		{name: "one line of 40 MB", put: text("a.log", func() string { return strings.Repeat("x", many(40<<20)) + "\n" + oom }), want: found},
		{name: "the failure within a line of 8 MB", put: text("a.log", func() string {
			return steps(5) + strings.Repeat("y ", 2<<20) + "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB" + strings.Repeat(" z", 2<<20)
		}), want: `"primary_cause": "(?:oom|unknown|none)"`},
		{name: "a line without an end", put: text("a.log", func() string { return steps(5) + strings.TrimSuffix(oom, "\n") }), want: found},
		{name: "endless carriage returns", put: text("a.log", func() string {
			return strings.Repeat("\r 10%|#    | 10/100 [00:01<00:09, 9.9it/s, loss=1.0]", 200_000) + "\n" + oom
		}), want: found},
		{name: "nothing but carriage returns", put: text("a.log", func() string { return strings.Repeat("\r", 20<<20) }), want: `"primary_cause"`},
		{name: "noise", put: text("a.log", func() string { return noise(3 << 20) }), want: `not a text log|"primary_cause"`},
		{name: "noise called text", put: text("a.log", func() string { return steps(200) + noise(3<<20) + "\n" + oom }), want: `"primary_cause"`},
		{name: "NUL bytes at the start", put: text("a.log", func() string { return strings.Repeat("\x00", 1<<20) + steps(20) + oom }), want: found},
		{name: "NUL bytes between", put: text("a.log", func() string { return steps(20) + strings.Repeat("\x00", 1<<20) + "\n" + oom }), want: found},
		{name: "every invalid form of UTF-8", put: text("a.log", func() string { return invalid() + oom }), want: found},
		{name: "UTF-16 with lone surrogates", put: text("a.log", func() string {
			return "\xff\xfe" + strings.Repeat("\x00\xd8", 100_000) + "\n\x00" + strings.Repeat("a\x00", 1000)
		}), want: `"primary_cause"`},
		{name: "UTF-16 cut in a unit", put: text("a.log", func() string { return "\xff\xfeE\x00r\x00r" }), want: `"primary_cause"`},
		{name: "a bomb of escapes", put: text("a.log", func() string {
			return strings.Repeat("\x1b[31m\x1b[1m\x1b]0;title\x07\x1b[2J\x1b[999999999;999999999H", 100_000) + "\n" + oom
		}), want: found},
		{name: "an escape that never ends", put: text("a.log", func() string { return "\x1b]" + strings.Repeat("9", 10<<20) + "\n" + oom }), want: found},
		{name: "escapes within the error", put: text("a.log", func() string {
			return steps(5) + "Traceback (most recent call last):\n\x1b[31mtorch.OutOfMemoryError\x1b[0m: CUDA out of memory. \x1b]8;;http://evil\x07Tried\x1b]8;;\x07 to allocate 2.00 GiB\u202e\n"
		}), want: found},
		{name: "1 million tracebacks", put: text("a.log", func() string {
			return strings.Repeat("Traceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: x\n", many(1_000_000)) + oom
		}), want: `"primary_cause"`},
		{name: "tracebacks that all differ", put: text("a.log", func() string {
			return lines(many(100_000), "Traceback (most recent call last):\n  File \"a%[1]d.py\", line %[1]d, in f\nValueError: x%[1]d") + oom
		}), want: `"primary_cause"`},
		{name: "a traceback of a million frames", put: text("a.log", func() string {
			return "Traceback (most recent call last):\n" + lines(many(1_000_000), "  File \"a.py\", line %d, in f") + "RecursionError: maximum recursion depth exceeded\n"
		}), want: `"primary_cause"`},
		{name: "exceptions while handling exceptions", put: text("a.log", func() string {
			return strings.Repeat(oom+"\nDuring handling of the above exception, another exception occurred:\n\n", 20_000)
		}), want: found},
		{name: "a million errors", put: text("a.log", func() string { return lines(many(1_000_000), "[ERROR] item %d failed: CUDA error: unknown error") }), want: `"primary_cause"`},
		{name: "a million ranks", put: text("a.log", func() string { return lines(many(1_000_000), "[rank%[1]d]: step %[1]d loss=1.0") + oom }), want: found},
		{name: "ranks beyond all numbers", put: text("a.log", func() string {
			return "[rank99999999999999999999]: x\n[rank-1]: y\n[rank9223372036854775807]: z\n[rank4294967296]: step 3 loss=1\n" + oom
		}), want: found},
		{name: "a million names of metrics", put: text("a.log", func() string { return lines(many(300_000), "step %[1]d m%[1]d=1.5 n%[1]d=2.5") + oom }), want: found},
		{name: "a million forms of lines", put: text("a.log", func() string {
			var b strings.Builder
			r := rand.New(rand.NewPCG(3, 4))
			for i := range 200_000 {
				fmt.Fprintf(&b, "%s%d %c%c: loss %d of %x\n", strings.Repeat("ab ", r.IntN(20)), i, 'a'+r.IntN(26), 'a'+r.IntN(26), i, r.Uint64())
			}
			return b.String() + oom
		}), want: found},
		{name: "launchers' reports without end", put: text("a.log", func() string {
			return lines(many(200_000), "[%[1]d]:\n  time      : 2026-01-01_00:00:00\n  host      : h%[1]d\n  rank      : %[1]d (local_rank: 0)\n  exitcode  : 1 (pid: %[1]d)\n  error_file: <N/A>")
		}), want: `"primary_cause"`},
		{name: "numbers beyond all bounds", put: text("a.log", func() string {
			return "step 99999999999999999999999/1 loss=1e999999 lr=-1e-999999 epoch=nan\nstep -5/0 loss=nan\n" + strings.Repeat("9", 1<<20) + "/" + strings.Repeat("8", 1<<20) + "\nstep 9223372036854775807 loss=1\nstep 9223372036854775808 loss=2\n" + oom
		}), want: found},
		{name: "times beyond all calendars", put: text("a.log", func() string {
			return "9999-99-99 99:99:99 step 1 loss=1\n0000-00-00T00:00:00Z step 2 loss=2\n292277026596-12-04T15:30:07Z step 3\n1970-01-01 00:00:00 step 4 loss=1\n" + oom
		}), want: found},
		{name: "JSON 1,000 levels deep in a line", put: text("a.log", func() string {
			return strings.Repeat(`{"a":`, 100_000) + "1" + strings.Repeat("}", 100_000) + "\n" + oom
		}), want: found},
		{name: "JSON lines that break off", put: text("a.log", func() string { return strings.Repeat(`{"level":"ERROR","message":"x\n`, 100_000) + "\n" + oom }), want: `"primary_cause"`},
		{name: "brackets for backtracking", put: text("a.log", func() string {
			return strings.Repeat(strings.Repeat("(", 5000)+strings.Repeat("a", 5000)+strings.Repeat("=", 5000)+"\n", 500) + oom
		}), want: found},
		{name: "commas for backtracking", put: text("a.log", func() string { return strings.Repeat(strings.Repeat("loss=1,", 100_000)+"\n", 10) + oom }), want: found},
		{name: "columns without end", put: text("a.log", func() string {
			return strings.Repeat("epoch  loss  ", 100_000) + "\n" + strings.Repeat("1.0  ", 100_000) + "\n" + oom
		}), want: found},
		{name: "a bar of a million cells", put: text("a.log", func() string { return "10%|" + strings.Repeat("█", many(1_000_000)) + "| 1/10\n" + oom }), want: found},
		{name: "a private key that never ends", put: text("a.log", func() string {
			return steps(5) + "-----BEGIN RSA " + "PRIVATE KEY-----\n" + strings.Repeat("MIIEpAIBAAKCAQEA\n", 300_000) + oom
		}), want: found},
		{name: "an archive in a log's name", put: text("a.log", func() string { return "PK\x03\x04" + noise(1000) }), want: `unpack it`},

		{name: "gzip bomb of 1 GB", put: text("a.log.gz", func() string { return bomb(many(1 << 10)) }), want: `"primary_cause"`},
		{name: "gzip in gzip", put: text("a.log.gz", func() string { return packed(packed(steps(20) + oom)) }), want: `not a text log|"primary_cause"`},
		{name: "gzip that is cut", put: text("a.log.gz", func() string { p := packed(noise(1<<20) + oom); return p[:len(p)/2] }), want: `not a text log|breaks off|cannot be unpacked`},
		{name: "gzip of text that is cut", put: text("a.log.gz", func() string { p := packed(steps(20000) + oom); return p[:len(p)/2] }), want: `breaks off`},
		{name: "a gzip header alone", put: text("a.log.gz", func() string { return "\x1f\x8b\x08" }), want: `cannot be unpacked|breaks off`},
		{name: "a gzip name without end", put: text("a.log.gz", func() string { return "\x1f\x8b\x08\x08\x00\x00\x00\x00\x00\x00" + strings.Repeat("n", 20<<20) }), want: `cannot be unpacked|breaks off`},
		{name: "a million gzip members", put: text("a.log.gz", func() string { return strings.Repeat(packed("step 1/10 loss=1\n"), 200_000) + packed(oom) }), want: found},
		{name: "zstd bomb of 1 GB with a wide window", put: text("a.log.zst", func() string { return zst(many(1<<10), "\n"+oom) }), want: found},
		{name: "a zstd window of 2 TB", put: text("a.log.zst", func() string { return "\x28\xb5\x2f\xfd\x00\xf8" + noise(1000) }), want: `cannot be unpacked|breaks off|window`},
		{name: "zstd skippable frames alone", put: text("a.log.zst", func() string { return strings.Repeat("\x50\x2a\x4d\x18\x04\x00\x00\x00abcd", 200_000) }), want: `"primary_cause"|cannot|nothing`},
		{name: "a skippable frame of 4 GB", put: text("a.log.zst", func() string { return "\x50\x2a\x4d\x18\xff\xff\xff\xffabcd" }), want: `"primary_cause"|cannot|breaks off`},
	})
}
