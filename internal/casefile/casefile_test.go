package casefile_test

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

func signs() []*casefile.Sign {
	return []*casefile.Sign{
		{ID: "oom", Class: report.OOM, Role: report.RoleCause, Weight: 0.9, Literals: []string{"CUDA out of memory"}},
		{ID: "benign", Class: report.None, Role: report.RoleBenign, Literals: []string{"trying batch size"}},
		{ID: "sticky", Class: report.IOCheckpoint, Role: report.RoleCause, Weight: 0.9, Literals: []string{"checkpoint is corrupt"}, Sticky: true},
	}
}

// read is the case file of one log, its bytes handed over as the reader gives them.
func read(t *testing.T, log string, wrap func(io.Reader) io.Reader) *casefile.File {
	t.Helper()
	m, err := casefile.NewMatcher(signs())
	if err != nil {
		t.Fatal(err)
	}
	f := casefile.New(m)
	s := run.Stream{Name: "run.log", Rank: run.NoRank, Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(wrap(strings.NewReader(log))), nil
	}}
	if err := f.Add(t.Context(), run.Observation{Streams: []run.Stream{s}}); err != nil {
		t.Fatal(err)
	}
	return f
}

func plain(r io.Reader) io.Reader { return r }

func steps(from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "step %d/100 loss %.3f\n", i, 3-float64(i)/100)
	}
	return b.String()
}

func TestRecovered(t *testing.T) {
	oom := "RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB\n"
	for _, c := range []struct {
		name, log string
		sign      string
		want      bool
	}{
		{"training went on", steps(1, 5) + oom + steps(6, 9), "oom", true},
		{"the last word", steps(1, 5) + oom, "oom", false},
		{"a bar that is drawn again is no progress", steps(1, 5) + oom + steps(5, 5), "oom", false},
		{"a sticky sign stays", steps(1, 5) + "checkpoint is corrupt\n" + steps(6, 9), "sticky", false},
		{"another rank's steps do not heal a rank that went silent", "[rank0]: " + strings.ReplaceAll(strings.TrimSpace(steps(1, 3)), "\n", "\n[rank0]: ") +
			"\n[rank1]: Traceback (most recent call last):\n[rank1]:   File \"a.py\", line 1, in f\n[rank1]:     x()\n[rank1]: RuntimeError: CUDA out of memory. Tried\n[rank0]: " +
			strings.ReplaceAll(strings.TrimSpace(steps(4, 9)), "\n", "\n[rank0]: ") + "\n", "oom", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := read(t, c.log, plain)
			e := f.EventsOf(c.sign)
			if len(e) != 1 || f.Recovered(e[0]) != c.want {
				t.Errorf("want one event, recovered %v; got %d events %+v", c.want, len(e), e)
			}
		})
	}
}

func TestBenignSuppresses(t *testing.T) {
	f := read(t, "CUDA out of memory at batch size 128, trying batch size 64\n", plain)
	if f.Has("oom") || !f.Has("benign") {
		t.Errorf("want the benign event alone, got %+v", f.Events)
	}
}

func TestTraceback(t *testing.T) {
	log := `[rank2]: Traceback (most recent call last):
[rank2]:   File "/app/data.py", line 12, in __getitem__
[rank2]:     return self.rows[i]
[rank2]: IndexError: list index out of range

[rank2]: The above exception was the direct cause of the following exception:

[rank2]: Traceback (most recent call last):
[rank2]:   File "/app/train.py", line 40, in main
[rank2]:     for batch in loader:
[rank2]: RuntimeError: sample 17
[rank2]: is broken
`
	f := read(t, log, plain)
	if len(f.Tracebacks) != 2 {
		t.Fatalf("want 2 tracebacks, got %d", len(f.Tracebacks))
	}
	first, last := f.Tracebacks[0], f.Tracebacks[1]
	if last.Earlier != first || !last.Direct || first.Rank != 2 || first.Ref.Line != 4 {
		t.Errorf("want a direct chain on rank 2 that begins at line 4, got %+v after %+v", last, first)
	}
	want := casefile.Frame{File: "/app/data.py", Line: 12, Func: "__getitem__", Code: "return self.rows[i]"}
	if got, _ := first.Innermost(); got != want {
		t.Error(cmp.Diff(want, got))
	}
	if last.Message != "sample 17\nis broken" {
		t.Errorf("want both lines of the message, got %q", last.Message)
	}
}

func TestTracebackBehindALoggersPrefix(t *testing.T) {
	log := "2024-01-01 10:00:00,001 ERROR train: Traceback (most recent call last):\n" +
		"2024-01-01 10:00:00,002 ERROR train:   File \"x.py\", line 3, in g\n" +
		"2024-01-01 10:00:00,003 ERROR train:     g()\n" +
		"2024-01-01 10:00:00,004 ERROR train: ValueError: bad\n"
	f := read(t, log, plain)
	if len(f.Tracebacks) != 1 || f.Tracebacks[0].Type != "ValueError" || len(f.Tracebacks[0].Frames) != 1 {
		t.Errorf("got %+v", f.Tracebacks)
	}
}

func TestLauncherReport(t *testing.T) {
	log := `Failures:
[1]:
  time      : 2024-01-01_10:00:00
  rank      : 3 (local_rank: 3)
  exitcode  : -9 (pid: 77)
  error_file: <N/A>
Root Cause (first observed failure):
[0]:
  time      : 2024-01-01_10:00:01
  rank      : 0 (local_rank: 0)
  exitcode  : 1 (pid: 70)
  error_file: /tmp/e/0/error.json
`
	f := read(t, log, plain)
	type exit struct {
		Rank, Code, PID int
		First, Proven   bool
	}
	var got []exit
	for _, e := range f.Exits {
		got = append(got, exit{e.Rank, e.Code, e.PID, e.First, e.Proven})
	}
	want := []exit{{3, -9, 77, false, false}, {0, 1, 70, true, true}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestChunking: however the bytes arrive, the case file is the same.
func TestChunking(t *testing.T) {
	log := steps(1, 40) + "\rEpoch 1:  10%|#| 4/40 [00:01<00:09, 4.0it/s]\rEpoch 1:  20%|##| 8/40 [00:02<00:08, 4.0it/s]\n" +
		strings.Repeat("x", 300<<10) + "\nRuntimeError: CUDA out of memory. Tried\r\n" + steps(41, 60) + "CUDA out of memory"
	want := shape(read(t, log, plain))
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"one byte at a time": iotest.OneByteReader, "half of what is asked": iotest.HalfReader, "data with the end": iotest.DataErrReader,
	} {
		if d := cmp.Diff(want, shape(read(t, log, wrap))); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func shape(f *casefile.File) []string {
	var out []string
	for _, e := range f.Events {
		out = append(out, fmt.Sprint(e.Sign.ID, " ", e.Ref, " @", e.Ref.Offset, " step ", e.Step, " ", f.Recovered(e)))
	}
	for _, s := range f.AllSeries() {
		out = append(out, fmt.Sprint(s.Name, " ", s.Count, " ", s.First, s.Last))
	}
	return append(out, fmt.Sprint(f.Streams[0].Lines, " lines ", f.Streams[0].Bytes, " bytes"))
}

func TestAStreamThatBreaksOffIsAGap(t *testing.T) {
	f := read(t, steps(1, 5), func(r io.Reader) io.Reader { return io.MultiReader(r, iotest.ErrReader(io.ErrUnexpectedEOF)) })
	if len(f.Gaps) != 1 || f.Main().LastStep != 5 {
		t.Errorf("want one gap and the five steps, got %+v", f.Gaps)
	}
}

func TestReadingsTakeThePlaceOfOlderOnes(t *testing.T) {
	f := read(t, "", plain)
	add := func(o run.Observation) {
		t.Helper()
		if err := f.Add(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 6000 {
		add(run.Observation{
			Facts:     []run.Fact{{Key: run.FactRSS, Value: strconv.Itoa(i)}, {Key: run.FactState, Value: "R"}},
			Processes: []run.Process{{PID: 1, State: "R"}, {PID: 2, State: "S"}},
		})
	}
	if len(f.Facts) != 2 || f.Value(run.FactRSS) != "5999" || len(f.Processes) != 2 {
		t.Errorf("%d facts, rss %s, %d processes", len(f.Facts), f.Value(run.FactRSS), len(f.Processes))
	}
	add(run.Observation{Facts: []run.Fact{{Key: run.FactState, Value: run.ProcessGone}, {Key: run.FactExitCode, Value: "137"}}})
	if len(f.Processes) != 0 || f.Value(run.FactExitCode) != "137" {
		t.Errorf("%+v", f.Processes)
	}
}
