package decimal_test

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/quick"

	"github.com/trainmedic/trainmedic/internal/decimal"
)

// agrees holds that a text is read as strconv reads it.
func agrees(t *testing.T, text string) {
	t.Helper()
	want, err := strconv.ParseFloat(text, 64)
	got, ok := decimal.Parse([]byte(text))
	if ok != (err == nil || math.IsInf(want, 0)) {
		t.Errorf("%q: read is %v, strconv: %v", text, ok, err)
	}
	if ok && math.Float64bits(got) != math.Float64bits(want) && !math.IsNaN(want) {
		t.Errorf("%q: want %v, got %v", text, want, got)
	}
}

func TestNumbersOfAllForms(t *testing.T) {
	for _, text := range []string{
		"0", "-0", "1", "-1.5", "0.1", ".5", "5.", ".", "-", "", "+3", "1e5", "1E+05", "1e-05", "1e", "1e+", "1e123", "1e-400", "1e400", "-1e400",
		"0.8474337369372327", "0.30000000000000004", "9007199254740993", "9007199254740993.0", "9007199254740992.5", "9007199254740993.00000000000000000001",
		"18446744073709551615", "9999999999999999999", "1.000000000000000055e-05", "9.999999999999999e-12", "2.2250738585072014e-308", "4.9e-324",
		"1234567890123456789e-27", "1234567890123456789e-28", "1e22", "1e23", "12345678901234567e10", "123456789", "1234567:", "12345678:", "1_0", "0x1p-2",
		"nan", "NaN", "inf", "-Infinity", "1 ", " 1", "0e-25", "0e25", "0000000000000000000000001", "0.00000000000000000000000000001",
	} {
		agrees(t, text)
	}
}

// TestWhatPythonWrites: the shortest form of any number, and numbers half way
// between two that a float64 holds, are rounded as strconv does.
func TestWhatPythonWrites(t *testing.T) {
	shortest := func(b uint64, small float64) bool {
		for _, v := range []float64{math.Float64frombits(b), float64(b) / math.MaxUint64, small} {
			agrees(t, strconv.FormatFloat(v, 'g', -1, 64))
			agrees(t, strconv.FormatFloat(v, 'e', 17, 64))
		}
		agrees(t, fmt.Sprintf("%d.%dE-%d", b>>40, b&0xfffff, b%30))
		return !t.Failed()
	}
	halves := func(b uint32, k uint8) bool { // exact in decimal, with one bit more than a float64 has
		v := uint64(1)<<53 | uint64(b)<<1 | 1
		agrees(t, fmt.Sprintf("%d.%d", v>>1, 5*(v&1)))
		agrees(t, fmt.Sprintf("%de-%d", v, k%30))
		return !t.Failed()
	}
	for _, f := range []any{shortest, halves} {
		if err := quick.Check(f, &quick.Config{MaxCount: 20_000}); err != nil {
			t.Error(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"0.8474337369372327", "-1.5e-3", "123456789012345678901234567890", "1e-5", "9007199254740993", "nan"} {
		f.Add(s)
	}
	f.Fuzz(agrees)
}

func BenchmarkParse(b *testing.B) {
	for _, s := range []string{"0.8474337369372327", "0.001", "1.2345678901234567e-05"} {
		text := []byte(s)
		b.Run(s, func(b *testing.B) {
			for b.Loop() {
				decimal.Parse(text)
			}
		})
		b.Run(s+" by strconv", func(b *testing.B) {
			for b.Loop() {
				strconv.ParseFloat(string(text), 64)
			}
		})
	}
}
