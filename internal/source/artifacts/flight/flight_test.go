package flight

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dumps reads recorded dumps; testdata/ranks.py says how they were made.
func dumps(t *testing.T, pattern string) []*Dump {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dumps: %v", err)
	}
	var out []*Dump
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if !Is(p, string(b)) {
			t.Errorf("%s is not taken for a dump", p)
		}
		d, err := Read(p, b)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, d)
	}
	return out
}

func TestRecordedDumps(t *testing.T) {
	for pattern, want := range map[string]Finding{
		"missing/nccl_*": {
			Kind: Missing, Ranks: []int{1}, Collective: "all_reduce #3 of default_pg", Name: "testdata/missing/nccl_trace_rank_0",
			Says: "ranks 0, 2 wait in all_reduce #3 of default_pg (called at ranks.py:17 in average_gradients, from ranks.py:29 in train, from ranks.py:35 in <module>), and rank 1 did not come. " +
				"The last collective of rank 1 was all_reduce #2 (called at ranks.py:17 in average_gradients, from ranks.py:23 in train, from ranks.py:35 in <module>).",
		},
		"mismatch/nccl_*": {
			Kind: Mismatch, Ranks: []int{2}, Collective: "all_reduce #3 of default_pg", Name: "testdata/mismatch/nccl_trace_rank_2",
			Says: "At number 3 of the sequence rank 2 called broadcast (called at ranks.py:27 in train, from ranks.py:35 in <module>), " +
				"but ranks 0, 1 called all_reduce of [[8]] (called at ranks.py:17 in average_gradients, from ranks.py:29 in train, from ranks.py:35 in <module>).",
		},
		"missing/*.json": {
			Kind: Missing, Ranks: []int{1}, Collective: "all_reduce #3 of default_pg", Name: "testdata/missing/fr_trace_rank_0.json",
			Says: "ranks 0, 2 wait in all_reduce #3 of default_pg, and rank 1 did not come. The last collective of rank 1 was all_reduce #2.",
		},
	} {
		t.Run(pattern, func(t *testing.T) {
			if diff := cmp.Diff(&want, Analyse(dumps(t, pattern))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// job builds dumps of a job with states, as NCCL notes them: "rank: seq name
// state, …".
func job(members string, ranks ...string) []*Dump {
	var out []*Dump
	for rank, text := range ranks {
		if text == "" {
			continue
		}
		d := &Dump{Name: "d", Rank: rank, groups: map[string]group{"0": {desc: "default_pg"}}}
		g := d.groups["0"]
		for m := range strings.FieldsSeq(members) {
			g.ranks = append(g.ranks, int(m[0]-'0'))
		}
		d.groups["0"] = g
		for i, o := range strings.Split(text, ", ") {
			f := strings.Fields(o)
			d.ops = append(d.ops, op{group: "0", seq: int64(i + 1), name: f[0], state: f[1], done: f[1] == "completed"})
		}
		out = append(out, d)
	}
	return out
}

func TestWhatDumpsShow(t *testing.T) {
	for name, c := range map[string]struct {
		dumps []*Dump
		want  string
		ranks []int
	}{
		"nothing waits":            {job("0 1", "all_reduce completed", "all_reduce completed"), "", nil},
		"one did not come":         {job("0 1 2", "all_reduce completed, all_reduce started", "all_reduce completed", "all_reduce completed, all_reduce started"), Missing, []int{1}},
		"a member left no dump":    {job("0 1 2", "all_reduce started", "", "all_reduce started"), Absent, []int{1}},
		"all are there":            {job("0 1", "all_reduce completed, all_reduce started", "all_reduce completed, all_reduce started"), Fabric, nil},
		"another collective":       {job("0 1 2", "all_reduce started", "all_gather started", "all_reduce started"), Mismatch, []int{1}},
		"one is done, another not": {job("0 1", "all_reduce completed", "all_reduce started"), Fabric, nil},
	} {
		t.Run(name, func(t *testing.T) {
			f := Analyse(c.dumps)
			if f == nil {
				f = &Finding{}
			}
			if f.Kind != c.want || !slices.Equal(f.Ranks, c.ranks) {
				t.Errorf("want %s %v, got %+v", c.want, c.ranks, f)
			}
		})
	}
}

// TestNothingIsCalled: a pickle that would run a command gives nothing.
func TestNothingIsCalled(t *testing.T) {
	evil := "\x80\x02cos\nsystem\nX\x04\x00\x00\x00exit\x85R."
	v, err := read([]byte(evil))
	if diff := cmp.Diff(any(opaque{}), v); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	for _, cut := range []string{"", "\x80", "(", "X\xff\xff\xff\xff", "}(", "]a", "h\x01.", "\x8b\xff\xff\xff\x7f"} {
		if _, err := read([]byte(cut)); err == nil {
			t.Errorf("%q: no error", cut)
		}
	}
}

// FuzzDump: whatever a file holds, it is read within its own size, and an analysis
// of it ends.
func FuzzDump(f *testing.F) {
	paths, _ := filepath.Glob("testdata/*/*_rank_*")
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Read("trace_rank_1", b)
		if (d == nil) == (err == nil) {
			t.Fatalf("%v %v", d, err)
		}
		if d != nil {
			Analyse([]*Dump{d, {Rank: 2, ops: d.ops, groups: d.groups}, {Rank: 3}})
		}
	})
}
