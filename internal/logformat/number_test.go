package logformat

import (
	"math"
	"strconv"
	"strings"
	"testing"
)

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		in   string
		want float64
		n    int
	}{
		{"1e-4", 1e-4, 4},
		{"1.2E+00 |", 1.2, 7},
		{"1,234", 1234, 5},
		{"1,234,567.5x", 1234567.5, 11},
		{"0.1, 0.2", 0.1, 3},
		{"12,34", 12, 2},
		{"1,2345", 1, 1},
		{"-0.5", -0.5, 4},
		{"+3", 3, 2},
		{".5", 0.5, 2},
		{"5.", 5, 2},
		{"1e", 1, 1},
		{"1e+", 1, 1},
		{"-inf", math.Inf(-1), 4},
		{"Infinity,", math.Inf(1), 8},
		{"abc", 0, 0},
		{"", 0, 0},
		{"-", 0, 0},
		{"0.30000000000000004", 0.30000000000000004, 19},
		{"1e400", math.Inf(1), 5},
	} {
		if v, n := number([]byte(c.in)); v != c.want || n != c.n {
			t.Errorf("%q: want %v in %d bytes, got %v in %d", c.in, c.want, c.n, v, n)
		}
	}
	if v, n := number([]byte("NaN")); !math.IsNaN(v) || n != 3 {
		t.Errorf("NaN: got %v in %d bytes", v, n)
	}
}

func FuzzNumber(f *testing.F) {
	for _, s := range []string{"1.5e-3", "123456789012345678901234567890", "0.1e-320", "-7", "1,234.5e2", "9007199254740993", "4.9e-324"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, n := number([]byte(s))
		if n == 0 || math.IsNaN(v) && (strings.EqualFold(s[1:n], "nan") || strings.EqualFold(strings.TrimLeft(s[:n], "+-"), "nanxxx")) { // C's "-nan" and PaddleOCR's "nanxxx", which strconv refuses
			return
		}
		text := strings.ReplaceAll(s[:n], ",", "")
		want, err := strconv.ParseFloat(text, 64)
		if err != nil && !math.IsInf(want, 0) && want != 0 {
			t.Fatalf("%q: number took %d bytes, strconv: %v", s, n, err)
		}
		if math.Float64bits(v) != math.Float64bits(want) && !(math.IsNaN(v) && math.IsNaN(want)) {
			t.Fatalf("%q: want %v, got %v", text, want, v)
		}
	})
}
