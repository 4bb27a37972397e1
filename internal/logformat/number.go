package logformat

import (
	"math"
	"strconv"

	"github.com/trainmedic/trainmedic/internal/decimal"
)

// number reads the number at the start of b and says how many bytes it takes, 0
// when there is none. Thousands commas are read ("1,234"), nan and inf in any
// case too. It does not look at what follows.
func number(b []byte) (float64, int) {
	i := 0
	if i < len(b) && (b[i] == '-' || b[i] == '+') {
		i++
	}
	if i >= len(b) {
		return 0, 0
	}
	if c := b[i]; c != '.' && !isDigit(c) {
		return nonFinite(b, i)
	}
	return finite(b, i)
}

func finite(b []byte, start int) (float64, int) {
	i, digits, seen, exp, commas := start, 0, 0, 0, false
	var mant uint64
	for ; i < len(b); i++ {
		if isDigit(b[i]) {
			if mant > 0 || b[i] != '0' {
				digits++
			}
			mant = mant*10 + uint64(b[i]-'0')
			seen++
			continue
		}
		if b[i] == ',' && seen > 0 && group(b, i, seen, commas) {
			commas = true
			continue
		}
		break
	}
	if i < len(b) && b[i] == '.' && (seen > 0 || i+1 < len(b) && isDigit(b[i+1])) {
		for i++; i < len(b) && isDigit(b[i]); i++ {
			if mant > 0 || b[i] != '0' {
				digits++
			}
			mant = mant*10 + uint64(b[i]-'0')
			seen, exp = seen+1, exp-1
		}
	}
	if seen == 0 {
		return 0, 0
	}
	e, n := exponent(b[i:])
	i += n
	exp += e
	v, ok := 0.0, false
	if digits <= 19 { // mant holds them all
		v, ok = decimal.Scale(mant, exp)
	}
	if !ok {
		return slow(b[:i], commas), i
	}
	if b[0] == '-' {
		v = -v
	}
	return v, i
}

// group reports whether the comma at i separates thousands.
func group(b []byte, i, seen int, commas bool) bool {
	if !commas && seen > 3 || i+3 >= len(b) {
		return false
	}
	for _, c := range b[i+1 : i+4] {
		if !isDigit(c) {
			return false
		}
	}
	return i+4 >= len(b) || !isDigit(b[i+4])
}

func exponent(b []byte) (int, int) {
	if len(b) < 2 || b[0] != 'e' && b[0] != 'E' {
		return 0, 0
	}
	i, neg := 1, false
	if b[i] == '-' || b[i] == '+' {
		neg = b[i] == '-'
		i++
	}
	if i >= len(b) || !isDigit(b[i]) {
		return 0, 0
	}
	e := 0
	for ; i < len(b) && isDigit(b[i]); i++ {
		if e < 10000 {
			e = e*10 + int(b[i]-'0')
		}
	}
	if neg {
		e = -e
	}
	return e, i
}

func slow(b []byte, commas bool) float64 {
	if commas {
		plain := make([]byte, 0, len(b))
		for _, c := range b {
			if c != ',' {
				plain = append(plain, c)
			}
		}
		b = plain
	}
	v, _ := strconv.ParseFloat(string(b), 64) // an overflow gives the infinity that strconv gives
	return v
}

func nonFinite(b []byte, i int) (float64, int) {
	switch {
	case hasFold(b[i:], "nanxxx"): // PaddleOCR prints it so
		return math.NaN(), i + 6
	case hasFold(b[i:], "nan"):
		return math.NaN(), i + 3
	case hasFold(b[i:], "infinity"):
		return math.Inf(sign(b)), i + 8
	case hasFold(b[i:], "inf"):
		return math.Inf(sign(b)), i + 3
	}
	return 0, 0
}

func sign(b []byte) int {
	if b[0] == '-' {
		return -1
	}
	return 1
}

// integer reads the unsigned integer at the start of b.
func integer(b []byte) (int64, int) {
	var v int64
	i := 0
	for ; i < len(b) && isDigit(b[i]); i++ {
		if i >= 18 {
			return 0, 0
		}
		v = v*10 + int64(b[i]-'0')
	}
	return v, i
}
