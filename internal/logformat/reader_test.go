package logformat

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expectations in testdata")

// A file of testdata begins with lines of prose ("# "), then come input lines,
// each followed by "=> " and its reading, if it has one; "== " is the progress.
func TestReadings(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata: %v, %d files", err, len(files))
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := read(string(want))
			if *update {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if string(want) != got {
				t.Errorf("want:\n%s\ngot:\n%s\nrun go test ./internal/logformat -update and read the diff", want, got)
			}
		})
	}
}

// read is the file with the readings that its lines have now.
func read(file string) string {
	var b strings.Builder
	r := NewReader()
	prose := true
	for line := range strings.Lines(file) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "=> ") || strings.HasPrefix(line, "== ") {
			continue
		}
		fmt.Fprintln(&b, line)
		if prose = prose && strings.HasPrefix(line, "# "); prose {
			continue
		}
		clean := Clean(nil, []byte(line))
		if v, ok := r.Line(clean[ParsePrefix(clean).Len:]); ok {
			fmt.Fprintf(&b, "=> %s\n", describe(v))
		}
	}
	p := r.Progress()
	fmt.Fprintf(&b, "== step %d/%d epoch %.4g/%.4g readings %d", p.Step, p.Total, p.Epoch, p.Epochs, p.Readings)
	if p.Completed {
		b.WriteString(" completed")
	}
	if p.Resumed {
		b.WriteString(" resumed")
	}
	if p.RewoundTo >= 0 {
		fmt.Fprintf(&b, " rewound to %d", p.RewoundTo)
	}
	fmt.Fprintf(&b, " %s\n", p.Format)
	return b.String()
}

func describe(v Reading) string {
	s := fmt.Sprintf("%s %s", v.Format, v.Phase)
	if v.Progress {
		s += " progress"
	}
	if v.Step >= 0 {
		s += fmt.Sprintf(" step %d/%d", v.Step, v.Total)
	}
	if v.Epoch >= 0 {
		s += fmt.Sprintf(" epoch %.4g", v.Epoch)
	}
	for _, m := range v.Values {
		s += fmt.Sprintf(" | %s %v", m.Name, m.Value)
	}
	if !v.Time.IsZero() {
		s += " @ " + v.Time.Format("2006-01-02T15:04:05.999Z07:00")
	}
	return s
}

func TestLineDoesNotAllocateOrRetain(t *testing.T) {
	r := NewReader()
	line := []byte("step 10/100 loss=0.5 lr=1e-3")
	v, ok := r.Line(line)
	if !ok {
		t.Fatal("want a reading")
	}
	for i := range line {
		line[i] = 'x'
	}
	if v.Values[0].Name != "loss" || v.Step != 10 {
		t.Errorf("want the reading untouched, got %+v", v)
	}
	silent := []byte("Loading model weights from /data/llama-7b/pytorch_model-00001.bin took 3.2 seconds")
	if n := testing.AllocsPerRun(100, func() { r.Line(silent); ParsePrefix(silent) }); n > 0 {
		t.Errorf("a silent line allocates %v times, want 0", n)
	}
}

func FuzzReader(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r := NewReader()
		for line := range bytes.SplitSeq(text, []byte("\n")) {
			clean := Clean(nil, line)
			n := ParsePrefix(clean).Len
			before := string(clean)
			v, _ := r.Line(clean[n:])
			if string(clean) != before {
				t.Fatalf("the line was changed: %q", line)
			}
			if v.Progress && v.Step < -1 {
				t.Fatalf("step %d of %q", v.Step, line)
			}
		}
		if p := r.Progress(); p.Step < -1 || p.Total < -1 {
			t.Fatalf("progress %+v", p)
		}
	})
}
