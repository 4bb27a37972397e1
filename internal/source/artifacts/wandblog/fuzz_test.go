package wandblog_test

import (
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/trainmedic/trainmedic/internal/run"
)

// FuzzLog holds that no bytes make the reader panic or run on, that what it gives
// is bounded by what it read, and that the console streams say what their size says.
func FuzzLog(f *testing.F) {
	f.Add(recorded(f, "0.31.0.wandb")[:3000])
	f.Add(recorded(f, "0.17.9.wandb")[:3000])
	var w writer
	w.row(0, map[string]string{"loss": "NaN", "deep.er": `{"a": [1, {"b": 2}]}`})
	w.output("a line\n")
	w.exit(1)
	f.Add(w.Bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 1<<20 {
			return
		}
		v := look(t, logOf(t, b), "")
		if len(v.Samples) > len(b) || len(v.Facts) > 4*len(b)+1 {
			t.Errorf("%d samples, %d facts of %d bytes", len(v.Samples), len(v.Facts), len(b))
		}
		for _, st := range v.Streams {
			r, err := st.Open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, r); err != nil || n != st.Size {
				t.Errorf("%s: %d bytes and %v, Size says %d", st.Name, n, err, st.Size)
			}
			r.Close()
		}
	})
}

// FuzzRecord holds the same of the contents of a record, whose checksum is right.
func FuzzRecord(f *testing.F) {
	var w writer
	w.row(3, map[string]string{"loss": "-Infinity", "train/global_step": "30", "a": `{"b": 1}`})
	w.exit(1)
	f.Add(w.Bytes()[14:])
	for b := recorded(f, "0.31.0.wandb"); len(b) > 20_000; { // the first records of a real log
		n := int(b[11]) | int(b[12])<<8
		f.Add(b[14 : 14+n])
		b = append(b[:7:7], b[14+n:]...)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var w writer
		w.record(b)
		w.record(b)
		if v := look(t, logOf(t, w.Bytes()), ""); len(v.Samples) > 2*len(b)+2 {
			t.Errorf("%d samples of %d bytes", len(v.Samples), len(b))
		}
	})
}

// FuzzGrowth holds that a log that is read twice, the first time cut anywhere,
// gives the same samples as one that is read at once.
func FuzzGrowth(f *testing.F) {
	f.Add([]byte("loss"), uint16(200), uint16(9))
	f.Add([]byte("train/global_step"), uint16(700), uint16(20))
	f.Fuzz(func(t *testing.T, key []byte, cut, rows uint16) {
		var w writer
		for i := range min(rows, 3000) {
			w.row(int64(i), map[string]string{string(key): "1.5", "loss": "NaN", "n": string(rune('0' + i%10))})
			if i%7 == 0 {
				w.output(string(key) + "\n")
			}
		}
		whole := w.Bytes()
		at := min(int(cut), len(whole))
		first := logOf(t, whole[:at])
		first.Watch = true
		a := look(t, first, "")
		second := logOf(t, whole)
		second.Watch = true
		b := look(t, second, a.Next)
		all := look(t, second, "")
		want, got := all.Samples, slices.Concat(a.Samples, b.Samples)
		if !slices.Equal(names(want), names(got)) {
			t.Errorf("cut at %d (-want +got):\n%s", at, cmp.Diff(names(want), names(got)))
		}
	})
}

func names(s []run.Sample) (out []run.Sample) {
	for _, v := range s {
		v.Value = 0 // NaN is not equal to itself
		out = append(out, v)
	}
	return out
}
