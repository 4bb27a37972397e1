package logformat

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

// both reads lines with forms and without; the readings and the progress after
// each line must be the same.
type both struct {
	t          *testing.T
	with, sans *Reader
	forms      *Forms
	finder     *Finder
	known      int
}

func newBoth(t *testing.T) *both {
	fs := NewForms()
	return &both{t: t, with: NewReader(), sans: NewReader(), forms: fs, finder: NewFinder(fs)}
}

func (b *both) line(clean []byte) {
	b.t.Helper()
	p := ParsePrefix(clean)
	text := clean[p.Len:]
	want, ok1 := b.sans.Line(text)
	got, ok2, done := Reading{}, false, false
	b.finder.Begin()
	f, nums := b.finder.Find(text, nil)
	b.finder.End()
	if f != nil {
		got, ok2, done = b.with.Again(f, nums, text, p.Time, p.Len == 0)
	}
	if done {
		b.known++
	} else {
		got, ok2 = b.with.Anew(text, Survey(text), b.forms, f)
		b.forms.File()
	}
	if ok1 != ok2 || describe(want) != describe(got) || !sameProgress(b.sans.Progress(), b.with.Progress()) {
		b.t.Fatalf("%q:\nwant %v %s %+v\ngot  %v %s %+v", clean, ok1, describe(want), b.sans.Progress(), ok2, describe(got), b.with.Progress())
	}
	if !reflect.DeepEqual(b.sans.plan, b.with.plan) || b.sans.head != b.with.head || b.sans.restart != b.with.restart || b.sans.family != b.with.family || b.sans.kin != b.with.kin {
		b.t.Fatalf("%q: the readers differ", clean)
	}
}

func sameProgress(a, b Progress) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// vary changes numbers of a line, their widths too.
func vary(r *rand.Rand, line []byte) []byte {
	var out []byte
	for i := range line {
		c := line[i]
		if !isDigit(c) {
			out = append(out, c)
			continue
		}
		switch r.IntN(24) {
		case 0:
			out = append(out, byte('0'+r.IntN(10)), byte('0'+r.IntN(10)))
		case 1:
		case 2, 3, 4, 5, 6, 7:
			out = append(out, byte('0'+r.IntN(10)))
		case 8:
			out = append(out, '0')
		default:
			out = append(out, c)
		}
	}
	return out
}

func TestFormsReadAsWithoutThem(t *testing.T) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.Split(text, []byte("\n"))
			r := rand.New(rand.NewPCG(7, 8))
			b := newBoth(t)
			for _, l := range lines {
				l = Clean(nil, l)
				b.line(l)
				for range 60 {
					b.line(vary(r, l))
				}
			}
			for range 2000 {
				b.line(vary(r, Clean(nil, lines[r.IntN(len(lines))])))
			}
			t.Logf("%d lines of a known form", b.known)
		})
	}
}

func TestShapeOfWords(t *testing.T) {
	digit, free := shape([]byte("step 12 acc@1 0.25 lr 1e-05 v1.2.3 2024-01-02"), drawn{})
	got := ""
	for i := range digit {
		switch {
		case free[i] != noGap:
			got += "f"
		case digit[i]:
			got += "d"
		default:
			got += "."
		}
	}
	want := ".....dd.......d.ff....d..dd........dddd.dd.dd"
	if want != got {
		t.Errorf("want %s\ngot  %s", want, got)
	}
}

func FuzzForms(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text, uint64(1))
	}
	f.Fuzz(func(t *testing.T, text []byte, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		b := newBoth(t)
		for l := range bytes.SplitSeq(text, []byte("\n")) {
			l = Clean(nil, l)
			for range 4 {
				b.line(l)
				l = vary(r, l)
			}
		}
	})
}

func BenchmarkAgain(b *testing.B) {
	line := []byte("2026-01-01 10:00:00 INFO step=1200 loss=0.3421 lr=1e-4 grad_norm=0.81 tokens_per_second=14231.5")
	r, fs := NewReader(), NewForms()
	for range 2 {
		r.Anew(line, Survey(line), fs, nil)
	}
	fs.File()
	x := NewFinder(fs)
	var nums []float64
	for b.Loop() {
		f, n := x.Find(line, nums[:0])
		nums = n
		if _, _, done := r.Again(f, nums, line, time.Time{}, true); !done {
			b.Fatal("not done")
		}
	}
}

func BenchmarkMarked(b *testing.B) {
	line := []byte("2026-01-01 10:00:00 INFO step=1200 loss=0.3421 lr=1e-4 grad_norm=0.81 tokens_per_second=14231.5")
	r := NewReader()
	m := Survey(line)
	for b.Loop() {
		r.Marked(line, m)
	}
}
