// Package decimal reads decimal numbers out of bytes: to the bit what strconv
// gives, in a fraction of its time for the sixteen or seventeen digits that Python
// writes. A tracker's record has millions of them.
package decimal

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// Parse is the number that b spells, with infinity for one that is too large. It
// takes what strconv.ParseFloat takes.
func Parse(b []byte) (float64, bool) {
	if v, ok := plain(b); ok {
		return v, true
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil || math.IsInf(v, 0)
}

const (
	mostDigits = 19      // that a uint64 always holds
	exact      = 1 << 53 // the integers below have a float64
)

// plain reads what nearly all numbers are: up to nineteen digits, perhaps a point,
// perhaps a small exponent.
func plain(b []byte) (float64, bool) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	mant, rest := digits(0, b)
	count, exp := len(b)-len(rest), 0
	if len(rest) > 0 && rest[0] == '.' {
		after := rest[1:]
		mant, rest = digits(mant, after)
		exp = len(rest) - len(after)
		count -= exp
	}
	if count == 0 || count > mostDigits {
		return 0, false
	}
	if len(rest) > 0 {
		e, ok := exponent(rest)
		if !ok {
			return 0, false
		}
		exp += e
	}
	v, ok := Scale(mant, exp)
	if negative {
		v = -v
	}
	return v, ok
}

// digits reads on in a number whose digits so far are mant, eight at once while it
// has so many, and gives what follows it.
func digits(mant uint64, b []byte) (uint64, []byte) {
	for len(b) >= 8 {
		// Eight bytes are digits if the upper half of each is 3 and the lower half at
		// most 9; then neighbours are joined to pairs, fours, and the whole.
		v := binary.LittleEndian.Uint64(b)
		if v&0xf0f0f0f0f0f0f0f0|(v+0x0606060606060606)&0xf0f0f0f0f0f0f0f0>>4 != 0x3333333333333333 {
			break
		}
		v = v & 0x0f0f0f0f0f0f0f0f * 2561 >> 8
		v = v & 0x00ff00ff00ff00ff * 6553601 >> 16
		v = v & 0x0000ffff0000ffff * 42949672960001 >> 32
		mant, b = mant*1e8+v, b[8:]
	}
	for len(b) > 0 && b[0]-'0' <= 9 {
		mant, b = mant*10+uint64(b[0]-'0'), b[1:]
	}
	return mant, b
}

// exponent reads all of b as an exponent of at most two digits.
func exponent(b []byte) (e int, ok bool) {
	if len(b) < 2 || b[0]|0x20 != 'e' {
		return 0, false
	}
	sign := 1
	switch b = b[1:]; b[0] {
	case '-':
		sign, b = -1, b[1:]
	case '+':
		b = b[1:]
	}
	n, rest := digits(0, b)
	return sign * int(n), len(rest) == 0 && (len(b) == 1 || len(b) == 2)
}

// Tens are the powers of ten that a float64 holds exactly; a mantissa below 2^53
// times or by one of them is rounded once.
var Tens = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// fives are the powers of five that a uint64 holds.
var fives = [...]uint64{
	1, 5, 25, 125, 625, 3125, 15625,
	78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125,
	6103515625, 30517578125, 152587890625, 762939453125, 3814697265625, 19073486328125, 95367431640625,
	476837158203125, 2384185791015625, 11920928955078125, 59604644775390625, 298023223876953125, 1490116119384765625, 7450580596923828125,
}

// Scale is mant times the exp-th power of ten, rounded once as strconv rounds; false
// where that takes more than a division.
func Scale(mant uint64, exp int) (float64, bool) {
	switch {
	case mant < exact && exp <= 0 && -exp < len(Tens):
		return float64(mant) / Tens[-exp], true
	case mant < exact && exp > 0 && exp < len(Tens):
		return float64(mant) * Tens[exp], true
	case exp >= 0 || -exp >= len(fives):
		return 0, false
	}
	// A quotient of 63 bits or more; whether it is exact is put into its last bit,
	// which lies far below those that the conversion rounds to.
	d := fives[-exp]
	up, down := bits.LeadingZeros64(mant), bits.LeadingZeros64(d)
	mant <<= up
	q, r := bits.Div64(mant>>1, mant<<63, d<<down)
	if r != 0 {
		q |= 1
	}
	return float64(q) * power(exp-63+down-up), true
}

// power is two to the e, which is that of a normal number.
func power(e int) float64 { return math.Float64frombits(uint64(1023+e) << 52) }
