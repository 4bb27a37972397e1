package logformat

import (
	"encoding/binary"
	"math/bits"

	"github.com/trainmedic/trainmedic/internal/decimal"
)

// fieldKind is what a field of a form holds.
type fieldKind uint8

const (
	noField fieldKind = iota
	numberField
	groupField // "1,234.5", with the same number of commas
	timeField  // "1:02:03" or "02:03", in seconds
	barField   // what tqdm draws
	kerasField // what Keras draws
)

// field is a stretch of the line whose bytes change. A number's whole part may
// have any width from least to most.
type field struct {
	kind        fieldKind
	padded      bool // two spaces or more before it
	negative    bool // a minus stands before it
	fraction    bool
	exponent    bool
	used        bool // its value is wanted
	least, most uint8
	commas      uint8
}

// drawn reports whether a field may hold the byte as part of a bar.
func (k fieldKind) drawn(c byte) bool {
	switch k {
	case barField:
		return c >= 0x80 || c == ' '
	case kerasField:
		return c == '=' || c == '>' || c == '.'
	}
	return false
}

// read reads the field at; next is -1 when something else stands there.
func (d *field) read(b []byte, at int) (v float64, next int) {
	if d.padded {
		from := at
		for at < len(b) && b[at] == ' ' {
			at++
		}
		if at < from+2 {
			return 0, -1
		}
	}
	switch d.kind {
	case numberField:
		return d.number(b, at)
	case groupField:
		return d.grouped(b, at)
	case timeField:
		return duration(b, at)
	}
	from := at
	for at < len(b) && d.kind.drawn(b[at]) {
		at++
	}
	if at == from {
		return 0, -1
	}
	return 0, at
}

// number reads the number at. It is what number gives, in a narrower form.
func (d *field) number(b []byte, at int) (float64, int) {
	if at+8 > cap(b) || d.exponent {
		return d.wide(b, at)
	}
	x := binary.LittleEndian.Uint64(b[at:at+8:cap(b)]) ^ 0x30*eachByte
	t := x&^highBits + 0x76*eachByte
	others := (t | x) & highBits // set where no digit stands
	n := bits.TrailingZeros64(others) >> 3
	end, exp := n, 0
	if d.fraction {
		if others &= others - 1; others == 0 || byte(x>>(8*n)) != '.'^'0' {
			return d.wide(b, at)
		}
		end = bits.TrailingZeros64(others) >> 3
		if exp = end - n - 1; exp == 0 {
			return 0, -1
		}
		whole := uint64(1)<<(8*n) - 1
		x = x&whole | x>>8&^whole // without the point
	}
	if end == 8 || end > len(b)-at {
		return d.wide(b, at)
	}
	if n < int(d.least) || n > int(d.most) {
		return 0, -1
	}
	if !d.used {
		return 0, at + end
	}
	v := float64(eightDigits(x, n+exp))
	if exp > 0 {
		v /= decimal.Tens[exp]
	}
	return d.signed(v), at + end
}

// eightDigits is the number whose n digits, fewer than nine, are the lowest bytes
// of x, the first one lowest.
func eightDigits(x uint64, n int) uint64 {
	x <<= 64 - 8*n // the last digit is the highest byte now
	x = x * (10<<8 + 1) >> 8 & 0x00ff00ff00ff00ff
	x = x * (100<<16 + 1) >> 16 & 0x0000ffff0000ffff
	return x * (10000<<32 + 1) >> 32
}

// wide is number for a number of any length.
func (d *field) wide(b []byte, at int) (float64, int) {
	start := at
	mant, n := digitsAt(b, at, 0)
	if n < int(d.least) || n > int(d.most) {
		return 0, -1
	}
	at += n
	exp := 0
	if d.fraction {
		if at >= len(b) || b[at] != '.' {
			return 0, -1
		}
		at++
		var k int
		if mant, k = digitsAt(b, at, mant); k == 0 || k > maxFraction {
			return 0, -1
		}
		at, n, exp = at+k, n+k, -k
	}
	if d.exponent {
		e, k := exponent(b[at:])
		if k == 0 {
			return 0, -1
		}
		at += k
		exp += e
	}
	if !d.used {
		return 0, at
	}
	if n <= 19 { // mant holds them all
		if v, ok := decimal.Scale(mant, exp); ok {
			return d.signed(v), at
		}
	}
	v, _ := number(b[start:at])
	return d.signed(v), at
}

// digitsAt reads the digits at behind those of v, and how many there are.
func digitsAt(b []byte, at int, v uint64) (uint64, int) {
	i := at
	for ; i < len(b) && isDigit(b[i]); i++ {
		v = v*10 + uint64(b[i]-'0')
	}
	return v, i - at
}

func (d *field) signed(v float64) float64 {
	if d.negative {
		return -v
	}
	return v
}

// grouped reads a number with thousands commas.
func (d *field) grouped(b []byte, at int) (float64, int) {
	start := at
	for at < len(b) && isDigit(b[at]) {
		at++
	}
	if n := at - start; n < int(d.least) || n > int(d.most) {
		return 0, -1
	}
	for range d.commas {
		if at+3 >= len(b) || b[at] != ',' || !isDigit(b[at+1]) || !isDigit(b[at+2]) || !isDigit(b[at+3]) {
			return 0, -1
		}
		at += 4
	}
	if d.fraction {
		from := at + 1
		if at >= len(b) || b[at] != '.' {
			return 0, -1
		}
		for at++; at < len(b) && isDigit(b[at]); at++ {
		}
		if at == from || at-from > maxFraction {
			return 0, -1
		}
	}
	v, n := number(b[start:])
	if n != at-start {
		return 0, -1
	}
	return d.signed(v), at
}

// duration reads 1:02:03, 02:03 or 3.
func duration(b []byte, at int) (float64, int) {
	total := 0
	for {
		from, v := at, 0
		for ; at < len(b) && isDigit(b[at]); at++ {
			v = v*10 + int(b[at]-'0')
		}
		if at == from || at-from > 6 {
			return 0, -1
		}
		total = total*60 + v
		if at+1 >= len(b) || b[at] != ':' || !isDigit(b[at+1]) {
			return float64(total), at
		}
		at++
	}
}
