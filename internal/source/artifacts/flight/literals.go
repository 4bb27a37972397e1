package flight

import (
	"encoding/binary"
	"math"
)

func (p *pickle) take(n int) ([]byte, error) {
	if n < 0 || n > len(p.b)-p.at {
		return nil, errCut
	}
	p.at += n
	return p.b[p.at-n : p.at], nil
}

// number takes a little-endian number of n bytes.
func (p *pickle) number(n int) (uint64, error) {
	b, err := p.take(n)
	if err != nil {
		return 0, err
	}
	var full [8]byte
	copy(full[:], b)
	return binary.LittleEndian.Uint64(full[:]), nil
}

// sized takes bytes behind their length of n bytes.
func (p *pickle) sized(n int) ([]byte, error) {
	size, err := p.number(n)
	if err != nil || size > uint64(len(p.b)) {
		return nil, errCut
	}
	return p.take(int(size))
}

func (p *pickle) line() error {
	for p.at < len(p.b) {
		p.at++
		if p.b[p.at-1] == '\n' {
			return nil
		}
	}
	return errCut
}

func (p *pickle) numeral(op byte) error {
	width := map[byte]int{opBinInt: 4, opBinInt1: 1, opBinInt2: 2, opBinFloat: 8}[op]
	if width == 0 {
		b, err := p.sized(map[byte]int{opLong1: 1, opLong4: 4}[op])
		if err != nil {
			return err
		}
		p.push(long(b))
		return nil
	}
	b, err := p.take(width)
	if err != nil {
		return err
	}
	switch op {
	case opBinInt:
		p.push(int64(int32(binary.LittleEndian.Uint32(b))))
	case opBinInt1:
		p.push(int64(b[0]))
	case opBinInt2:
		p.push(int64(binary.LittleEndian.Uint16(b)))
	default:
		p.push(math.Float64frombits(binary.BigEndian.Uint64(b)))
	}
	return nil
}

// long is a little-endian number in two's complement; one of more than 64 bits is
// opaque.
func long(b []byte) any {
	if len(b) > 8 {
		return opaque{}
	}
	var full [8]byte
	if len(b) > 0 && b[len(b)-1]&0x80 != 0 {
		full = [8]byte{255, 255, 255, 255, 255, 255, 255, 255}
	}
	copy(full[:], b)
	return int64(binary.LittleEndian.Uint64(full[:]))
}

func (p *pickle) text(op byte) error {
	width := 4
	switch op {
	case opShortStr, opShortBytes, opShortString:
		width = 1
	case opUnicode8:
		width = 8
	}
	b, err := p.sized(width)
	p.push(string(b))
	return err
}
