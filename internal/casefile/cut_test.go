package casefile

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/trainmedic/trainmedic/internal/logformat"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// mixed is a log of many kinds of lines, drawn by chance.
func mixed(r *rand.Rand, n int) string {
	var b strings.Builder
	step := 0
	for range n {
		step++
		switch r.IntN(22) {
		case 0:
			fmt.Fprintf(&b, "\r%3d%%|%s| %d/500 [00:%02d<01:10,  9.%dit/s, loss=%.3f]", step%100, strings.Repeat("█", step%10)+" ", step, step%60, step%10, r.Float64())
		case 1:
			fmt.Fprintf(&b, "%d/500 [==>....] - ETA: %ds - loss: %.4f - accuracy: %.4f\r", step, step%60, r.Float64(), r.Float64())
		case 2:
			b.WriteString("\n\r\n  \n")
		case 3:
			b.WriteString("Traceback (most recent call last):\n  File \"train.py\", line 7, in main\n    step()\nValueError: bad batch\nmore of it\n\n")
		case 4:
			fmt.Fprintf(&b, "[rank%d]: CUDA out of memory. Tried to allocate %d MiB\n", r.IntN(3), step)
		case 5:
			fmt.Fprintf(&b, "\x1b[31m2026-10-01 10:%02d:%02d ERROR retrying\x1b[0m\r\n", step/60%60, step%60)
		case 6:
			fmt.Fprintf(&b, "{'loss': %.4f, 'grad_norm': %.3f, 'learning_rate': 1e-05, 'epoch': %.2f}\n", r.Float64(), r.Float64()*9, float64(step)/100)
		case 7:
			b.WriteString(strings.Repeat("long words ", 30+r.IntN(60)))
			b.WriteByte('\n')
		case 8:
			fmt.Fprintf(&b, "noise %d of the worker out of memory\n", r.IntN(1e6))
		case 9:
			fmt.Fprintf(&b, "node%02d:%d:%d [%d] NCCL INFO Channel %02d/0 : 0[0] -> 1[1] via P2P/CUMEM/read\n", r.IntN(12), 1200+r.IntN(60), r.IntN(9000), r.IntN(8), r.IntN(12))
		case 10:
			fmt.Fprintf(&b, "[rank%d]:2026-10-01 10:%02d:%02d,%03d - INFO - datasets.builder - Wrote event file /runs/out.tfevents.%d\n", r.IntN(12), step/60%60, step%60, r.IntN(1000), r.IntN(1e5))
		case 11:
			fmt.Fprintf(&b, "[rank%d]: [2026-10-01 10:%02d:%02d] iteration %8d/  500000 | elapsed time per iteration (ms): %.1f | lm loss: %.6E | grad norm: %.3f |\n", r.IntN(12), step/60%60, step%60, step, r.Float64()*2000, r.Float64(), r.Float64()*20)
		case 12:
			fmt.Fprintf(&b, "{\"step\": %d, \"loss\": %.4f, \"tokens\": %d, \"time\": 17%08d.%03d}\n", step, r.Float64(), r.IntN(1e7), step*7, r.IntN(1000))
		case 13:
			fmt.Fprintf(&b, "INFO:trainer:Saved checkpoint-%d, max_steps = %d\n", step, 1000*(1+r.IntN(2)))
		default:
			fmt.Fprintf(&b, "2026-10-01 10:%02d:%02d INFO step=%d loss=%.4f lr=%.6f\n", step/60%60, step%60, step, r.Float64()*3, 0.001/float64(step))
		}
	}
	return b.String()
}

var cutSigns = []*Sign{
	{ID: "oom", Role: report.RoleCause, Weight: 1, Literals: []string{"out of memory"}, Regexp: NewPattern(`CUDA out of memory. Tried to allocate (?P<mib>\d+) MiB`), Sets: map[string]string{"oom.mib": "$mib"}},
	{ID: "accuracy", Role: report.RoleContext, Each: true, Literals: []string{"accuracy: ", "accuracy"}, Regexp: NewPattern(`accuracy: (?P<value>\d\.\d+)`)},
	{ID: "bad-batch", Role: report.RoleCause, Weight: 1, Literals: []string{"ValueError: "}, Frames: NewPattern(`train\.py`)},
}

// dump is all that a case file knows.
func dump(f *File) string {
	var b strings.Builder
	for _, s := range f.Streams {
		fmt.Fprintln(&b, s.Name, s.Lines, s.Bytes, s.First, s.Last, s.orders, s.Err)
		fmt.Fprintf(&b, "head %+v\ntail %+v\n", s.Head, s.Tail)
		for _, rank := range sortedRanks(s.Readers) {
			r := s.Readers[rank]
			fmt.Fprintf(&b, "rank %d %+v %d %d %v %v %v %d %d\n", rank, r.Progress(), r.Advances, r.LastStep, r.LastRef, r.LastTime, r.EvalLast, r.Evals, r.lastOrder)
			var names []string
			for n := range r.Series {
				names = append(names, n)
			}
			slices.Sort(names)
			for _, n := range names {
				fmt.Fprintf(&b, "%s %+v\n", n, *r.Series[n])
			}
		}
	}
	for _, e := range f.Events {
		fmt.Fprintf(&b, "event %s %d %v %v %d %q %v %d %d %v %t %+v\n", e.Sign.ID, e.Rank, e.Ref, e.LastRef, e.Count, e.Text, e.Groups, e.Step, e.Order, e.At, e.Trace != nil, e.Context)
	}
	for _, t := range f.Tracebacks {
		fmt.Fprintf(&b, "trace %s %q %+v %v %v %t %+v\n", t.Type, t.Message, t.Frames, t.First, t.Ref, t.Handled, t.Context)
	}
	fmt.Fprintf(&b, "%+v %+v %+v\n", f.Exits, f.Facts, f.Gaps)
	return regexp.MustCompile(`0x[0-9a-f]+`).ReplaceAllString(b.String(), "")
}

func readCut(t *testing.T, text string, block, workers int, wrap func(io.Reader) io.Reader) string {
	t.Helper()
	m, err := NewMatcher(cutSigns)
	if err != nil {
		t.Fatal(err)
	}
	f := New(m)
	f.blockSize, f.workers = block, workers
	var streams []run.Stream
	for _, name := range []string{"a.log", "b.log"} {
		streams = append(streams, run.Stream{Name: name, Rank: run.NoRank, Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(wrap(strings.NewReader(text))), nil
		}})
	}
	if err := f.Add(context.Background(), run.Observation{Streams: streams}); err != nil {
		t.Fatal(err)
	}
	return dump(f)
}

func TestAnyCutAndAnyNumberOfWorkersGiveTheSameCaseFile(t *testing.T) {
	plain := func(r io.Reader) io.Reader { return r }
	for seed := range uint64(6) {
		text := mixed(rand.New(rand.NewPCG(seed, 1)), 700)
		want := readCut(t, text, 1<<20, 1, plain)
		for _, c := range []struct {
			name           string
			block, workers int
			wrap           func(io.Reader) io.Reader
		}{
			{"small blocks", 1 << 10, 1, plain},
			{"odd blocks, three workers", 1777, 3, plain},
			{"blocks of usual size", blockSize, 2, plain},
			{"half reads", 5000, 4, iotest.HalfReader},
			{"data with the end", 4096, 2, iotest.DataErrReader},
		} {
			if got := readCut(t, text, c.block, c.workers, c.wrap); got != want {
				a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
				for i := range a {
					if i >= len(b) || a[i] != b[i] {
						t.Fatalf("seed %d, %s: line %d:\nwant %.600s\ngot  %.600s", seed, c.name, i, a[i], b[min(i, len(b)-1)])
					}
				}
			}
		}
	}
}

// What forms and inert lines save is not missed: each rank's reader knows what
// one knows that is shown every line the long way.
func TestFormsGiveWhatTheLongWayGives(t *testing.T) {
	for seed := range uint64(4) {
		text := mixed(rand.New(rand.NewPCG(seed, 2)), 3000)
		m, err := NewMatcher(cutSigns)
		if err != nil {
			t.Fatal(err)
		}
		f := New(m)
		f.blockSize = 3000
		open := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
		if err := f.Add(context.Background(), run.Observation{Streams: []run.Stream{{Name: "x", Rank: run.NoRank, Open: open}}}); err != nil {
			t.Fatal(err)
		}
		s := f.Streams[0]
		first, last, long := longWay(text)
		if !first.Equal(s.First) || !last.Equal(s.Last) {
			t.Errorf("seed %d: want %v to %v, got %v to %v", seed, first, last, s.First, s.Last)
		}
		if want, got := sortedRanks(long), sortedRanks(s.Readers); !slices.Equal(want, got) {
			t.Fatalf("seed %d: want ranks %v, got %v", seed, want, got)
		}
		for rank, want := range long {
			got := s.Readers[rank]
			if want.Progress() != got.Progress() || want.Advances != got.Advances || want.LastStep != got.LastStep || want.Evals != got.Evals || len(want.Series) != len(got.Series) {
				t.Errorf("seed %d, rank %d: want %+v, %d steps, %d series; got %+v, %d steps, %d series", seed, rank, want.Progress(), want.Advances, len(want.Series), got.Progress(), got.Advances, len(got.Series))
			}
			for name, v := range want.Series {
				if w, g := withoutRefs(v), withoutRefs(got.Series[name]); w != g {
					t.Fatalf("seed %d, rank %d, %s:\nwant %.400s\ngot  %.400s", seed, rank, name, w, g)
				}
			}
		}
	}
}

func withoutRefs(s *run.Series) string {
	out := fmt.Sprint(s.Count, s.NonFinite, s.Min.Value, s.Min.Step, s.Max.Value, s.Max.Step, s.Last.Value, s.Last.Step)
	for _, p := range s.Points() {
		out += fmt.Sprint(" ", p.Step, p.Value)
	}
	return out
}

// longWay shows each line to the reader of its rank.
func longWay(text string) (first, last time.Time, ranks map[int]*RankReader) {
	ranks = map[int]*RankReader{}
	for raw := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if strings.TrimSpace(raw) == "" {
			continue
		}
		clean := logformat.Clean(nil, []byte(raw))
		p := logformat.ParsePrefix(clean)
		if last = cmp.Or(p.Time, last); first.IsZero() {
			first = p.Time
		}
		k := ranks[p.Rank]
		if k == nil {
			k = &RankReader{Rank: p.Rank, reader: logformat.NewReader(), Series: map[string]*run.Series{}, LastStep: -1}
			ranks[p.Rank] = k
		}
		if v, ok := k.reader.Line(clean[p.Len:]); ok {
			k.take(&File{}, &v, run.Ref{}, p.Time)
		}
	}
	return first, last, ranks
}

// The scanner with the regexps behind it finds what every regexp on every line finds.
func TestHitsEqualAPlainLoop(t *testing.T) {
	text := mixed(rand.New(rand.NewPCG(9, 9)), 2000)
	m, err := NewMatcher(cutSigns[:1])
	if err != nil {
		t.Fatal(err)
	}
	f := New(m)
	f.blockSize = 3000
	open := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
	if err := f.Add(context.Background(), run.Observation{Streams: []run.Stream{{Name: "x", Rank: run.NoRank, Kind: "other", Open: open}}}); err != nil {
		t.Fatal(err)
	}
	got := 0
	for _, e := range f.Events {
		got += e.Count
	}
	want := 0
	for line := range bytes.FieldsFuncSeq([]byte(text), func(r rune) bool { return r == '\n' || r == '\r' }) {
		if _, ok := cutSigns[0].Match(line); ok {
			want++
		}
	}
	if got != want || want == 0 {
		t.Errorf("want %d events, got %d", want, got)
	}
}

func BenchmarkRead(b *testing.B) {
	text := mixed(rand.New(rand.NewPCG(3, 3)), 50000)
	m, _ := NewMatcher(cutSigns)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		open := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil }
		if err := New(m).Add(context.Background(), run.Observation{Streams: []run.Stream{{Name: "x", Rank: run.NoRank, Open: open}}}); err != nil {
			b.Fatal(err)
		}
	}
}
