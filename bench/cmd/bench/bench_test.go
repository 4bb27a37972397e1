package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/bench/golden"
)

// ran is a row of a file of 1 GB whose runs took these milliseconds.
func ran(name, peer, cat string, peakMB int64, ms ...int64) row {
	r := row{Name: name, Peer: peer, Cat: cat, Bytes: 1e9}
	for _, n := range ms {
		wall := time.Duration(n) * time.Millisecond
		r.Samples = append(r.Samples, sample{Wall: wall, CPU: wall * 3 / 2, Peak: peakMB * 1e6})
	}
	return r
}

func example() results {
	return results{
		Machine:  machine{CPU: "A CPU", Kernel: "6.1", Go: "go version go1.26.8", Commit: "abc", Date: "2026-10-01", Load: "0 0 0", Cores: 2, Memory: 24e9, Peers: []string{"ripgrep 15.0.0"}},
		Settings: settings{Size: 1e9, Rounds: 3},
		Tables: []table{
			{"main", "Mixed log", againstRipgrep, []row{
				ran("cat", "", "cat", 2, 150, 130, 140),
				ran(peer, peer, "cat", 9, 2800, 2700, 2900),
				ran(ours, peer, "cat", 30, 700, 900, 800),
				ran(oursOne, peer, "cat", 70, 2000, 2000, 2000),
			}},
			{"linear", "Growth", "", []row{
				ran("cat × 1", "", "cat × 1", 2, 100), ran(ours+" × 1", "", "cat × 1", 30, 1000),
				ran("cat × 2", "", "cat × 2", 2, 200), ran(ours+" × 2", "", "cat × 2", 30, 2100),
				ran("cat × 4", "", "cat × 4", 2, 400), ran(ours+" × 4", "", "cat × 4", 30, 3900),
				ran("cat × 8", "", "cat × 8", 2, 800), ran(ours+" × 8", "", "cat × 8", 30, 9600),
			}},
			{"start", "Start-up", "", []row{ran(ours, peer, "cat", 30, 55, 57, 70, 80)}},
		},
		Micro: "pkg: x\nBenchmarkSignatures/cores=1-2 \t 100\t 5 ns/op\t 1500.00 MB/s\nBenchmarkSignatures/cores=2-2 100 5 ns/op 2000.00 MB/s",
		Notes: []string{"zstd is missing"},
	}
}

func TestResults(t *testing.T) {
	golden.Compare(t, "RESULTS.md", markdown(example()))
	golden.Compare(t, "results.txt", benchstat(example()))
}

func TestOthersOnTheMachineAreMentioned(t *testing.T) {
	r := example()
	if strings.Contains(markdown(r), "Somebody else") {
		t.Error("a quiet machine is called busy")
	}
	for i := range r.Tables[0].Rows[1].Samples {
		r.Tables[0].Rows[1].Samples[i].CPU /= 2
	}
	if !strings.Contains(markdown(r), "rg took 1.33 times as long") {
		t.Error("a busy machine is not mentioned")
	}
}

func TestNothingMeasuredIsNothingReached(t *testing.T) {
	if got := strings.Count(markdown(results{}), "not measured"); got != len(goals) {
		t.Errorf("want %d goals not measured, got %d", len(goals), got)
	}
}

func TestEveryGoalAsksForATableThatIsMeasured(t *testing.T) {
	r := example()
	for _, p := range plans {
		if r.table(p.name) == nil {
			r.Tables = append(r.Tables, table{Name: p.name})
		}
	}
	add := func(name string, rows ...row) { r.table(name).Rows = append(r.table(name).Rows, rows...) }
	for _, n := range []string{"metric95", "longline", "cr", "rank"} {
		add(n, ran(peer, "", "", 2, 100), ran(ours, "", "", 2, 10))
	}
	for _, ext := range []string{".gz", ".zst"} {
		add("compressed", ran("rg 15 -z "+ext, "", "", 2, 100), ran(ours+" "+ext, "", "", 2, 10))
	}
	for _, f := range shapes {
		add("extract", ran("Python re, "+f, "", "", 2, 100), ran(ours+", "+f, "", "", 2, 10))
	}
	add("hits", ran(ours+", hits", "", "", 2, 100), ran(ours+", quiet", "", "", 2, 100))
	add("huge", ran(ours, "", "", 2, 100))
	for _, g := range goals {
		if a := g.answer(r); a.text == "" {
			t.Errorf("%s: no answer", g.work)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		name string
		env  map[string]string
		want settings
		err  string
	}{
		{"nothing", nil, settings{Size: 1e9, Rounds: 5, Dir: "d", Out: "bench"}, ""},
		{"all", map[string]string{"BENCH_SIZE": "50MB", "BENCH_ROUNDS": "2", "BENCH_HUGE": "1", "BENCH_ONLY": "main, micro"}, settings{Size: 50e6, Rounds: 2, Huge: true, Only: []string{"main", "micro"}, Dir: "d", Out: "d"}, ""},
		{"bytes", map[string]string{"BENCH_SIZE": "1500000", "BENCH_OUT": "o"}, settings{Size: 1.5e6, Rounds: 5, Dir: "d", Out: "o"}, ""},
		{"half", map[string]string{"BENCH_SIZE": "0.5g"}, settings{Size: 5e8, Rounds: 5, Dir: "d", Out: "bench"}, ""},
		{"too small", map[string]string{"BENCH_SIZE": "10KB"}, settings{}, "1MB or more"},
		{"no size", map[string]string{"BENCH_SIZE": "MB"}, settings{}, "like 50MB"},
		{"unit", map[string]string{"BENCH_SIZE": "50MM"}, settings{}, "like 50MB"},
		{"rounds", map[string]string{"BENCH_ROUNDS": "0"}, settings{}, "above 0"},
		{"table", map[string]string{"BENCH_ONLY": "mian"}, settings{}, `no table "mian"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := fromEnvironment(func(name string) string {
				if name == "BENCH_DIR" {
					return "d"
				}
				return c.env[name]
			})
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("want an error with %q, got %v", c.err, err)
				}
				return
			}
			if diff := cmp.Diff(c.want, got); err != nil || diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}

func TestParseResult(t *testing.T) {
	s, status, err := parseResult("1500000000 1200000 300000 2048 3\n")
	want := sample{Wall: 1500 * time.Millisecond, CPU: 1500 * time.Millisecond, Peak: 2 << 20}
	if err != nil || s != want || status != 3 {
		t.Errorf("want %v and 3, got %v, %d, %v", want, s, status, err)
	}
	if _, _, err := parseResult("1500000000 12"); err == nil {
		t.Error("half a line is no error")
	}
}
