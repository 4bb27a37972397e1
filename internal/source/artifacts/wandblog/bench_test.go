package wandblog_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/trainmedic/trainmedic/internal/source"
)

// BenchmarkLook reads a history of 20 metrics; with TRAINMEDIC_WANDB_LOG it reads
// that log, so that another reader can be measured on the same one.
func BenchmarkLook(b *testing.B) {
	var w writer
	values := map[string]string{}
	for i := range 20 {
		values[fmt.Sprintf("train/metric_%d", i)] = "0.123456789012"
	}
	for i := range 20_000 {
		w.row(int64(i), values)
	}
	l, size := logOf(b, w.Bytes()), int64(w.Len())
	if p := os.Getenv("TRAINMEDIC_WANDB_LOG"); p != "" {
		info, err := os.Stat(p)
		if err != nil {
			b.Fatal(err)
		}
		l.Open, size = func() (source.Opened, error) { return os.Open(p) }, info.Size()
	}
	b.SetBytes(size)
	n := 0
	for b.Loop() {
		n = 0
		for prev, more := "", true; more; {
			v, err := l.Look(b.Context(), prev)
			if err != nil {
				b.Fatal(err)
			}
			n, prev, more = n+len(v.Samples), v.Next, v.More
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
}
