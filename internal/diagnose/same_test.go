package diagnose_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// artifact is the diagnosis of a target as it is written, without what differs
// between two looks: the run's id and times.
func artifact(t *testing.T, doctor *diagnose.Doctor, target string) string {
	t.Helper()
	return printed(t, doctor, target, func(*report.Diagnosis) {})
}

func printed(t *testing.T, doctor *diagnose.Doctor, target string, edit func(*report.Diagnosis)) string {
	t.Helper()
	res, err := doctor.Diagnose(t.Context(), diagnose.Request{Target: target, RunID: "same"})
	if err != nil {
		return err.Error()
	}
	d := res.Diagnosis
	d.Timestamp, d.DurationSeconds = "", 0
	edit(d)
	b, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// written is when each file of a copied case was: the same in every copy.
func written(name string) time.Time {
	h := fnv.New32a()
	io.WriteString(h, name)
	return time.Date(2026, 1, 1, 0, 0, int(h.Sum32()%3600), 0, time.UTC)
}

// copyAs copies a case, its files in an order of their own and each through pack.
func copyAs(t *testing.T, from, to string, seed uint64, pack func(name string, b []byte) (string, []byte)) {
	t.Helper()
	var names []string
	err := fs.WalkDir(os.DirFS(from), ".", func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && p != "want.json" {
			names = append(names, p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, n := range names {
		b, err := os.ReadFile(filepath.Join(from, n))
		if err != nil {
			t.Fatal(err)
		}
		at := written(n)
		if pack != nil {
			n, b = pack(n, b)
		}
		p := filepath.Join(to, n)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, b, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(p, at, at); err != nil {
			t.Fatal(err)
		}
	}
}

// someCases are two dozen of the corpus, spread over it.
func someCases(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/cases/*/want.json")
	if err != nil || len(all) < 24 {
		t.Fatalf("%d cases: %v", len(all), err)
	}
	var out []string
	for i := 0; i < len(all); i += len(all) / 24 {
		out = append(out, filepath.Dir(all[i]))
	}
	return out
}

// cut gives the streams of a kind in pieces of odd sizes.
func cut(k *source.Kind, r *rand.Rand) *source.Kind {
	c := *k
	c.Open = func(ctx context.Context, ref string, opt source.Options) (source.Source, error) {
		s, err := k.Open(ctx, ref, opt)
		return cutting{s, r}, err
	}
	return &c
}

type cutting struct {
	source.Source
	r *rand.Rand
}

func (c cutting) Observe(ctx context.Context, since run.Cursor) (run.Observation, error) {
	o, err := c.Source.Observe(ctx, since)
	for i, s := range o.Streams {
		o.Streams[i].Open = func(ctx context.Context) (io.ReadCloser, error) {
			in, err := s.Open(ctx)
			if origin, ok := in.(interface{ Origin(int) run.Ref }); ok {
				return originPieces{pieces{in, c.r}, origin}, err
			}
			return pieces{in, c.r}, err
		}
	}
	return o, err
}

type pieces struct {
	io.ReadCloser
	r *rand.Rand
}

func (p pieces) Read(b []byte) (int, error) {
	return p.ReadCloser.Read(b[:min(len(b), 1+p.r.IntN(700))])
}

type originPieces struct {
	pieces
	origin interface{ Origin(int) run.Ref }
}

func (p originPieces) Origin(line int) run.Ref { return p.origin.Origin(line) }

// The same input gives the same artifact, byte for byte.
func TestTheSameRunGivesTheSameArtifact(t *testing.T) {
	doctor := newDoctor(t)
	chunked := newDoctor(t)
	kinds := slices.Clone(chunked.Sources)
	for i, k := range kinds {
		kinds[i] = cut(k, rand.New(rand.NewPCG(7, uint64(i))))
	}
	chunked.Sources = kinds
	for _, dir := range someCases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			at := filepath.Join(t.TempDir(), "run")
			copyAs(t, dir, at, 1, nil)
			want := artifact(t, doctor, at)
			same := func(what, got string) {
				t.Helper()
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%s:\n%s", what, d)
				}
			}
			for i := range 4 {
				same(fmt.Sprintf("look %d in one process", i+2), artifact(t, doctor, at))
			}
			same("another doctor", artifact(t, newDoctor(t), at))
			same("streams in pieces", artifact(t, chunked, at))
			for _, n := range []int{1, 2, 8} {
				before := runtime.GOMAXPROCS(n)
				got := artifact(t, doctor, at)
				runtime.GOMAXPROCS(before)
				same(fmt.Sprintf("%d processors", n), got)
			}
			for seed := range uint64(3) {
				if err := os.RemoveAll(at); err != nil {
					t.Fatal(err)
				}
				copyAs(t, dir, at, 2+seed, nil)
				same("files made in another order", artifact(t, doctor, at))
			}
		})
	}
}

// A packed log gives the diagnosis of the log.
func TestAPackedLogGivesTheSameArtifact(t *testing.T) {
	doctor := newDoctor(t)
	packers := map[string]func([]byte) []byte{
		".gz": func(b []byte) []byte {
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			w.Write(b)
			w.Close()
			return out.Bytes()
		},
		".zst": func(b []byte) []byte {
			w, err := zstd.NewWriter(nil)
			if err != nil {
				t.Fatal(err)
			}
			return w.EncodeAll(b, nil)
		},
	}
	for _, dir := range someCases(t) {
		logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
		if err != nil || len(logs) == 0 {
			continue
		}
		t.Run(filepath.Base(dir), func(t *testing.T) {
			name := filepath.Base(logs[0])
			at := t.TempDir()
			plain, err := os.ReadFile(logs[0])
			if err != nil {
				t.Fatal(err)
			}
			put := func(name string, b []byte) string {
				p := filepath.Join(at, name)
				if err := os.WriteFile(p, b, 0o644); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(p, written(name), written(name)); err != nil {
					t.Fatal(err)
				}
				return p
			}
			bare := func(d *report.Diagnosis) { d.NextCommands = nil } // one of them prints lines of the file
			want := printed(t, doctor, put(name, plain), bare)
			for ext, pack := range packers {
				got := printed(t, doctor, put(name+ext, pack(plain)), bare)
				if d := cmp.Diff(want, strings.ReplaceAll(got, name+ext, name)); d != "" {
					t.Errorf("%s:\n%s", ext, d)
				}
			}
		})
	}
}
