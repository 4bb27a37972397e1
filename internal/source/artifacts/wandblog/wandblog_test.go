package wandblog_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/wandblog"
	"github.com/trainmedic/trainmedic/internal/source/sourcetest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// logOf is a log that holds b.
func logOf(t testing.TB, b []byte) wandblog.Log {
	t.Helper()
	p := filepath.Join(t.TempDir(), "run-x.wandb")
	if err := os.WriteFile(p, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return wandblog.Log{Name: "run-x.wandb", Ident: "1", Console: true, Open: func() (source.Opened, error) { return os.Open(p) }}
}

// look reads a log in as many looks as it takes.
func look(t testing.TB, l wandblog.Log, prev string) wandblog.View {
	t.Helper()
	var all wandblog.View
	for more := true; more; {
		v, err := l.Look(context.Background(), prev)
		if err != nil {
			t.Fatal(err)
		}
		all.Samples, all.Facts, all.Gaps = append(all.Samples, v.Samples...), append(all.Facts, v.Facts...), append(all.Gaps, v.Gaps...)
		all.Streams = append(all.Streams, v.Streams...)
		all.Next, prev, more = v.Next, v.Next, v.More
	}
	return all
}

// What the real client wrote is told as it was said: see testdata/record.py.
func TestRecordedRuns(t *testing.T) {
	logs, err := filepath.Glob("testdata/*.wandb")
	if err != nil || len(logs) == 0 {
		t.Fatal("no recorded run", err)
	}
	for _, p := range logs {
		t.Run(strings.TrimSuffix(filepath.Base(p), ".wandb"), func(t *testing.T) {
			b, err := os.ReadFile(p)
			if err != nil {
				t.Fatal(err)
			}
			got, golden := tell(t, look(t, logOf(t, b), "")), strings.TrimSuffix(p, ".wandb")+".txt"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(string(want), got); d != "" {
				t.Errorf("go test -update rewrites %s (-want +got):\n%s", golden, d)
			}
		})
	}
}

// tell writes a view: facts, what became of each metric, gaps, the output.
func tell(t *testing.T, v wandblog.View) string {
	t.Helper()
	var b strings.Builder
	for _, f := range v.Facts {
		if !strings.HasPrefix(f.Key, "host.") { // of the machine that it was recorded on
			fmt.Fprintf(&b, "%s = %s\n", f.Key, f.Value)
		}
	}
	series := map[string]*run.Series{}
	for _, s := range v.Samples {
		if series[s.Name] == nil {
			series[s.Name] = &run.Series{Name: s.Name}
		}
		if s.At.IsZero() || s.Ref.File != "run-x.wandb" || s.Tracker != "wandb:x" {
			t.Errorf("%s: no time, place or tracker: %+v", s.Name, s)
		}
		series[s.Name].Add(run.Point{Step: s.Step, Value: s.Value, Ref: s.Ref})
	}
	for _, name := range slices.Sorted(maps.Keys(series)) {
		s := series[name]
		fmt.Fprintf(&b, "%s: %d, from %v at %d to %v at %d", name, s.Count, s.First.Value, s.First.Step, s.Last.Value, s.Last.Step)
		if p := s.FirstNonFinite; p != nil {
			fmt.Fprintf(&b, ", %d not finite from %d on", s.NonFinite, p.Step)
		}
		b.WriteString("\n")
	}
	for _, g := range v.Gaps {
		fmt.Fprintf(&b, "gap: %s: %s\n", g.What, g.Why)
	}
	for _, st := range v.Streams {
		text := sourcetest.Text(t, st)
		if int64(len(text)) != st.Size {
			t.Errorf("%s: Size %d, %d bytes", st.Name, st.Size, len(text))
		}
		fmt.Fprintf(&b, "-- %s --\n%s", st.Name, text)
	}
	return b.String()
}

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var sameSamples = cmp.Options{cmpopts.EquateNaNs()}

// However a log grows, each sample, fact and line is told once and in order.
func TestAGrowingLogIsReadOnce(t *testing.T) {
	for _, name := range []string{"0.31.0.wandb", "0.17.9.wandb"} {
		whole := recorded(t, name)
		l := logOf(t, whole)
		l.Watch = true
		want := look(t, l, "")
		for _, step := range []int{997, 7001, 32768} {
			var got wandblog.View
			var text string
			for n, prev := 0, ""; n <= len(whole); n += step {
				part := logOf(t, whole[:n])
				if n+step > len(whole) {
					part = logOf(t, whole)
				}
				part.Watch = true
				v := look(t, part, prev)
				for _, st := range v.Streams {
					if int(st.Offset) != len(text) || st.FirstLine != strings.Count(text, "\n")+1 {
						t.Fatalf("%s by %d: output goes on at %d, line %d; want %d, %d", name, step, st.Offset, st.FirstLine, len(text), strings.Count(text, "\n")+1)
					}
					text += sourcetest.Text(t, st)
				}
				got.Samples, got.Facts, prev = append(got.Samples, v.Samples...), append(got.Facts, v.Facts...), v.Next
				if len(v.Gaps) > 0 {
					t.Fatalf("%s at %d: gaps %v", name, n, v.Gaps)
				}
			}
			if d := cmp.Diff(want.Samples, got.Samples, sameSamples); d != "" {
				t.Errorf("%s by %d: samples (-want +got):\n%s", name, step, d)
			}
			if want := sourcetest.Text(t, want.Streams[0]); text != want {
				t.Errorf("%s by %d: output\nwant %q\ngot  %q", name, step, want, text)
			}
			count := func(fs []run.Fact, key string) (n int) {
				for _, f := range fs {
					if f.Key == key {
						n++
					}
				}
				return n
			}
			for _, key := range []string{"exit.code", "config.lr", "tracker.run", "tracker.alert.1.message"} {
				if a, b := count(want.Facts, key), count(got.Facts, key); a != b || a == 0 {
					t.Errorf("%s by %d: %s is told %d times, want %d", name, step, key, b, a)
				}
			}
		}
	}
}

func TestACutLogIsReadToItsCut(t *testing.T) {
	whole := recorded(t, "0.31.0.wandb")
	v := look(t, logOf(t, whole[:20_000]), "")
	var whats []string
	for _, g := range v.Gaps {
		whats = append(whats, g.What)
	}
	if d := cmp.Diff([]string{"the end of run-x.wandb", "how the run ended"}, whats); d != "" {
		t.Errorf("gaps (-want +got):\n%s", d)
	}
	if n := len(v.Samples); n < 90 {
		t.Errorf("%d samples before the cut", n)
	}
}

func TestDamageIsPassedOver(t *testing.T) {
	var w writer
	for i := range 9000 {
		w.row(int64(i), map[string]string{"loss": fmt.Sprint(9000 - i)})
	}
	whole := w.Bytes()
	for name, hurt := range map[string]func(b []byte) []byte{
		"a flipped byte":   func(b []byte) []byte { b[100_000] ^= 1; return b },
		"a zeroed stretch": func(b []byte) []byte { clear(b[70_000:90_000]); return b },
		"a wild length":    func(b []byte) []byte { b[65536+4], b[65536+5] = 0xff, 0xff; return b },
		"a torn end":       func(b []byte) []byte { return b[:len(b)-5] },
		"text in the way":  func(b []byte) []byte { copy(b[40_000:], bytes.Repeat([]byte("no record\n"), 5000)); return b },
	} {
		t.Run(name, func(t *testing.T) {
			v := look(t, logOf(t, hurt(bytes.Clone(whole))), "")
			if len(v.Gaps) < 2 { // the damage, and the missing exit record
				t.Errorf("gaps %v", v.Gaps)
			}
			if n := len(v.Samples); n < 5000 || n >= 9000 {
				t.Errorf("%d of 9000 samples are read", n)
			}
			if last := v.Samples[len(v.Samples)-1]; last.Step < 8990 {
				t.Errorf("it reads to step %d only", last.Step)
			}
		})
	}
	t.Run("another file", func(t *testing.T) {
		v := look(t, logOf(t, []byte("PK\x03\x04 no log at all")), "")
		if len(v.Gaps) != 1 || !strings.Contains(v.Gaps[0].Why, "does not begin as a W&B transaction log") || len(v.Samples) > 0 {
			t.Errorf("%+v", v)
		}
	})
	t.Run("nothing yet", func(t *testing.T) {
		for n := range 7 {
			if v := look(t, logOf(t, whole[:n]), ""); len(v.Samples)+len(v.Facts)+len(v.Streams) > 0 {
				t.Errorf("%d bytes: %+v", n, v)
			}
		}
	})
}

// A history of any length passes through bounded looks, and nothing of it is left
// out: its extremes and its first NaN neither.
func TestALongHistoryComesInPieces(t *testing.T) {
	var w writer
	const rows, lost = 60_000, 41_234
	for i := range rows {
		v := "1.5"
		switch i {
		case 12_345:
			v = "-77"
		case 23_456:
			v = "99.5"
		case lost:
			v = "NaN"
		}
		w.row(int64(i), map[string]string{"loss": v, "a": "1", "b": "2", "c": "3", "d": "4", "e": "5"})
	}
	l := logOf(t, w.Bytes())
	var s run.Series
	looks, n := 0, 0
	for prev, more := "", true; more; looks++ {
		v, err := l.Look(t.Context(), prev)
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Samples) > 70_000 {
			t.Fatalf("a look gives %d samples", len(v.Samples))
		}
		for _, x := range v.Samples {
			if n++; x.Name == "loss" {
				s.Add(run.Point{Step: x.Step, Value: x.Value})
			}
		}
		prev, more = v.Next, v.More
	}
	if n != 6*rows || looks < 5 {
		t.Errorf("%d samples in %d looks", n, looks)
	}
	if s.Min.Step != 12_345 || s.Max.Step != 23_456 || s.FirstNonFinite == nil || s.FirstNonFinite.Step != lost || s.Count != rows {
		t.Errorf("min %v, max %v, first non-finite %v, count %d", s.Min, s.Max, s.FirstNonFinite, s.Count)
	}
}

func TestSteps(t *testing.T) {
	type row = map[string]string
	for name, c := range map[string]struct {
		rows []row
		want []int64
	}{
		"_step counts":                     {[]row{{"loss": "1"}, {"loss": "2"}}, []int64{0, 1}},
		"the trainer's step goes first":    {[]row{{"loss": "1", "train/global_step": "50"}, {"loss": "2", "train/global_step": "100"}}, []int64{50, 100}},
		"a row without it stays there":     {[]row{{"loss": "1", "trainer/global_step": "50"}, {"loss": "2"}}, []int64{50, 50}},
		"a bare step counts":               {[]row{{"loss": "1", "step": "7"}, {"loss": "2", "step": "8"}}, []int64{7, 8}},
		"one that begins anew does not":    {[]row{{"loss": "1", "step": "7"}, {"loss": "2", "step": "0"}, {"loss": "3", "step": "1"}}, []int64{7, 1, 2}},
		"of two the global one":            {[]row{{"loss": "1", "step": "7", "global_step": "70"}, {"loss": "2", "step": "8", "global_step": "80"}}, []int64{70, 80}},
		"the evaluation's own step is not": {[]row{{"loss": "1", "eval/step": "900"}}, []int64{0, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			var w writer
			for i, r := range c.rows {
				w.row(int64(i), r)
			}
			var got []int64
			for _, s := range look(t, logOf(t, w.Bytes()), "").Samples {
				got = append(got, s.Step)
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("steps (-want +got):\n%s", d)
			}
		})
	}
}

func TestValues(t *testing.T) {
	for text, want := range map[string][]float64{
		"1.5": {1.5}, "-2e-3": {-0.002}, "NaN": {math.NaN()}, "-Infinity": {math.Inf(-1)}, `"Infinity"`: {math.Inf(1)}, `"12"`: nil, "true": nil, "null": nil, "[1, 2]": nil,
		`{"a": 1, "b": {"c": NaN}}`: {1, math.NaN()}, `{"_type": "histogram", "values": 3}`: nil, `{"broken`: nil, "": nil, "-": nil, "1e999": {math.Inf(1)},
	} {
		var w writer
		w.row(0, map[string]string{"x": text})
		var got []float64
		for _, s := range look(t, logOf(t, w.Bytes()), "").Samples {
			got = append(got, s.Value)
		}
		if d := cmp.Diff(want, got, cmpopts.EquateNaNs()); d != "" {
			t.Errorf("%s (-want +got):\n%s", text, d)
		}
	}
}
