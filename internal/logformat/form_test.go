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
	f, nums := b.finder.Find(append(text, "0123456789"...)[:len(text)], nil)
	if f != nil {
		b.checkStamp(f, text, p)
		var v *Reading
		if v, done = b.with.Again(f, append(nums, 7, 8), text, p.Time, p.Len == 0); v != nil {
			got, ok2 = *v, true
		}
	}
	switch m := Survey(text); {
	case done:
		b.known++
	case b.with.Silent(m):
		b.forms.Mute(text, m)
	default:
		got, ok2 = b.with.Anew(text, m, b.forms, f)
	}
	b.forms.File()
	if ok1 != ok2 || describe(want) != describe(got) || !sameProgress(b.sans.Progress(), b.with.Progress()) {
		b.t.Fatalf("%q:\nwant %v %s %+v\ngot  %v %s %+v", clean, ok1, describe(want), b.sans.Progress(), ok2, describe(got), b.with.Progress())
	}
	if !reflect.DeepEqual(b.sans.plan, b.with.plan) || b.sans.head != b.with.head || b.sans.restart != b.with.restart || b.sans.family != b.with.family || b.sans.kin != b.with.kin {
		b.t.Fatalf("%q: the readers differ", clean)
	}
}

// checkStamp holds what a form says of a line's stamp to the long way.
func (b *both) checkStamp(f *Form, text []byte, p Prefix) {
	b.t.Helper()
	var own Prefix
	own.stamp(text)
	var want Stamp
	want.set(own.Time)
	if got := b.finder.Stamp; want.Has != got.Has || want.Has && want != got || quiet(own.Level) != f.Quiet() || !IsClean(text) {
		b.t.Fatalf("%q: want %v %q, got %v quiet %t", text, want, own.Level, got, f.Quiet())
	}
	if frame := text[0] == ' ' && contains(text, `File "`); frame != f.Frame() {
		b.t.Fatalf("%q: want frame %t", text, frame)
	}
}

func sameProgress(a, b Progress) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// vary changes numbers of a line, their widths too.
func vary(r *rand.Rand, line []byte) []byte {
	var out []byte
	for i := range line {
		c := line[i]
		if !isDigit(c) {
			if out = append(out, c); c == ' ' && r.IntN(40) == 0 {
				out = append(out, c)
			}
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
	line := "2024-01-02 step   12 acc@1 0.25 lr 1e-05 v1.2.3 f.9 4/70 tps: 7,343 04:05"
	for _, c := range []struct {
		name string
		free freedom
		want string
	}{
		{"numbers", numbersFree, "ssss.ss.ss ....   ## ...@. #### .. ##### v..... f.. #/## ...: ##### dd:dd"},
		{"words", wordsFree, "ssss.ss.ss ....   ## ...@# #### .. ##### vd.d.# f.# #/## ...: ##### dd:dd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s sketch
			s.draw([]byte(line), drawn{}, c.free, 0, 10, []int{62})
			got := []byte(line)
			for i := range got {
				switch {
				case i < 10 && s.digit[i]:
					got[i] = 's'
				case s.digit[i]:
					got[i] = 'd'
				case got[i] != ' ' && got[i] != 'v' && got[i] != 'f' && got[i] != '@' && got[i] != ':' && got[i] != '/':
					got[i] = '.'
				}
			}
			for _, f := range s.spans {
				for i := f.from; i < f.to; i++ {
					got[i] = '#'
				}
			}
			if string(got) != c.want {
				t.Errorf("want %s\ngot  %s", c.want, got)
			}
		})
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
	if f, _ := x.Find(line, nil); f == nil {
		b.Fatal("not learned")
	}
	var nums []float64
	for b.Loop() {
		f, n := x.Find(line, nums[:0])
		nums = n
		if _, done := r.Again(f, nums, line, time.Time{}, true); !done {
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
