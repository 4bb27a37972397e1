package parquet

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
)

// The physical types.
const (
	boolean = iota
	int32Type
	int64Type
	int96Type
	floatType
	doubleType
	byteArray
	fixedBytes
)

// values are the values of one page in plain coding.
type values struct {
	c  *Column
	b  []byte
	n  int
	at []int // where each begins, of byte arrays only
}

// plain checks that n values are there.
func (c *Column) plain(b []byte, n int) (*values, error) {
	v := &values{c: c, b: b, n: n}
	size := 0
	switch c.typ {
	case boolean:
		if (n+7)/8 > len(b) {
			return nil, errPage
		}
		return v, nil
	case byteArray:
		return v, v.find()
	case int32Type, floatType:
		size = 4
	case int64Type, doubleType:
		size = 8
	case fixedBytes:
		size = c.width
	}
	if size <= 0 {
		return nil, fmt.Errorf("its type (%d) is not read here", c.typ)
	}
	if n > len(b)/size {
		return nil, errPage
	}
	return v, nil
}

func (v *values) find() error {
	if v.n > len(v.b)/4 {
		return errPage
	}
	v.at = make([]int, 0, v.n)
	for i := 0; len(v.at) < v.n; {
		if i+4 > len(v.b) {
			return errPage
		}
		v.at = append(v.at, i)
		size := int64(binary.LittleEndian.Uint32(v.b[i:]))
		if size > int64(len(v.b)-i-4) {
			return errPage
		}
		i += 4 + int(size)
	}
	return nil
}

// text is the i-th value.
func (v *values) text(i int) string {
	le := binary.LittleEndian
	switch v.c.typ {
	case boolean:
		return boolText(v.b[i/8]>>(i%8)&1 == 1)
	case int32Type:
		if u := le.Uint32(v.b[4*i:]); v.c.unsigned {
			return strconv.FormatUint(uint64(u), 10)
		}
		return v.c.decimal(int64(int32(le.Uint32(v.b[4*i:]))))
	case int64Type:
		if u := le.Uint64(v.b[8*i:]); v.c.unsigned {
			return strconv.FormatUint(u, 10)
		}
		return v.c.decimal(int64(le.Uint64(v.b[8*i:])))
	case floatType:
		return strconv.FormatFloat(float64(math.Float32frombits(le.Uint32(v.b[4*i:]))), 'g', -1, 32)
	case doubleType:
		return strconv.FormatFloat(math.Float64frombits(le.Uint64(v.b[8*i:])), 'g', -1, 64)
	case byteArray:
		at := v.at[i]
		return clip(v.b[at+4 : at+4+int(le.Uint32(v.b[at:]))])
	}
	b := v.b[i*v.c.width : (i+1)*v.c.width]
	if v.c.number && v.c.width <= 8 {
		return v.c.decimal(bigEndian(b))
	}
	return clip(b)
}

// bigEndian is a signed number of up to eight bytes.
func bigEndian(b []byte) int64 {
	v := int64(int8(b[0]))
	for _, c := range b[1:] {
		v = v<<8 | int64(c)
	}
	return v
}

func boolText(b bool) string { return strconv.FormatBool(b) }

func (c *Column) decimal(v int64) string {
	if c.scale == 0 {
		return strconv.FormatInt(v, 10)
	}
	ten := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(c.scale)), nil)
	return new(big.Rat).SetFrac(big.NewInt(v), ten).FloatString(c.scale)
}

func clip(b []byte) string {
	return strings.ToValidUTF8(string(b[:min(len(b), maxText)]), "�")
}
