package parquet_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/source/artifacts/parquet"
)

// open reads a sample that testdata/make.py wrote with Arrow.
func open(t testing.TB, name string) *parquet.File {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	f, err := parquet.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// show is the first rows of every column.
func show(f *parquet.File, rows int) (out []string) {
	for _, c := range f.Columns {
		v, err := c.Read(rows)
		s := c.Name + ": " + strings.Join(v, " | ")
		if err != nil {
			s += "! " + err.Error()
		}
		out = append(out, s)
	}
	return out
}

func TestRead(t *testing.T) {
	const (
		text  = "text: sample 0 | sample 1 | sample 2 | sample 3 | sample 4 | sample 5 | sample 6 | sample 7 | sample 8"
		label = "label: 0 | 1 | 2 | 3 | 4 | 0 | 1 |  | 3"
		leak  = "leak: 0 | 1 | 2 | 3 | 4 | 0 | 1 |  | 3"
		good  = "good: true | false | false | true | false | false | true | false | false"
	)
	flat := []string{text, label, leak, good}
	for name, want := range map[string][]string{
		"plain.parquet": flat, "zstd.parquet": flat, "gzip.parquet": flat,
		"all.parquet": {
			text, label, leak, "small: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8", "score: 0 | 0.25 | 0.5 | 0.75 | 1 | 1.25 | 1.5 | 1.75 | 2",
			"exact: 0.00 | 0.01 | 0.02 | 0.03 | 0.04 | 0.05 | 0.06 | 0.07 | 0.08", good,
			"meta.id: 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8", "meta.tag: even |  | even |  | even |  | even |  | even",
			"ids.list.element: ! parquet: column ids.list.element holds lists", "kind: b | a | b | a | b | a | b | a | b",
		},
		"brotli.parquet": {
			"text: ! parquet: column text: it is compressed with brotli, which is not read here", "label: ! parquet: column label: it is compressed with brotli, which is not read here",
			"leak: ! parquet: column leak: it is compressed with brotli, which is not read here", "good: ! parquet: column good: it is compressed with brotli, which is not read here",
		},
		"delta.parquet": {
			"text: ! parquet: column text: its values are coded in a way (7) that is not read here",
			"label: ! parquet: column label: its values are coded in a way (5) that is not read here", leak, good,
		},
		"required.parquet": {"label: 0 | 1 | 9 | 0 | 1 | 9 | 0 | 1 | 9", "text: x | x | x | x | x | x | x | x | x"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(want, show(open(t, name), 9)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReadAcrossRowGroupsAndPages(t *testing.T) {
	for _, name := range []string{"all.parquet", "gzip.parquet"} {
		f := open(t, name)
		v, err := f.Columns[0].Read(1000)
		if err != nil || len(v) != 50 || v[49] != "sample 49" || f.Rows != 50 {
			t.Errorf("%s: %d of %d rows, last %q, %v", name, len(v), f.Rows, v[len(v)-1], err)
		}
	}
}

// Every file that is cut, and every one with a damaged byte, is refused or read;
// it never panics and never takes memory that the file does not have.
func TestDamage(t *testing.T) {
	for _, name := range []string{"all.parquet", "zstd.parquet", "required.parquet"} {
		whole, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(whole); i += 11 {
			read(whole[:i])
			b := bytes.Clone(whole)
			b[i] ^= 1 << (i % 8)
			read(b)
		}
	}
}

func read(b []byte) {
	f, err := parquet.Open(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return
	}
	for _, c := range f.Columns {
		c.Read(100)
	}
}

func TestRefuse(t *testing.T) {
	for in, want := range map[string]string{
		"":                             "too short",
		"PAR1":                         "too short",
		"PAR1aaaaaaaaPAR":              "does not end as a Parquet file does",
		"PAR1\x00\x00\x00\x00PARE":     "encrypted",
		"PAR1\xff\xff\xff\x7fPAR1":     "larger than can be",
		"PAR1\x00\x01\x00\x00\x00PAR1": "no schema",
	} {
		if _, err := parquet.Open(strings.NewReader(in), int64(len(in))); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%q: want %q, got %v", in, want, err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	names, err := filepath.Glob("testdata/*.parquet")
	if err != nil || len(names) == 0 {
		f.Fatal("no samples", err)
	}
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		read(b)
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 256<<20 {
			t.Errorf("%d bytes took %d MB", len(b), got>>20)
		}
	})
}
