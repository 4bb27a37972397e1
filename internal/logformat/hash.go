package logformat

import (
	"encoding/binary"
	"math/bits"
)

// folded is w with all digits 0.
func folded(w uint64) uint64 {
	m := digitBytes(w)
	return w&^m | 0x30*eachByte&m
}

// Fold appends the line to dst with all digits 0.
func Fold(dst, line []byte) []byte {
	n := len(dst)
	dst = append(dst, line...)
	b := dst[n:]
	for len(b) >= 8 {
		binary.LittleEndian.PutUint64(b, folded(binary.LittleEndian.Uint64(b)))
		b = b[8:]
	}
	for i, c := range b {
		if isDigit(c) {
			b[i] = '0'
		}
	}
	return dst
}

// Hash is a hash of a line that heeds no digits.
func Hash(b []byte) uint32 {
	h := uint64(len(b))
	for ; len(b) >= 8; b = b[8:] {
		h = (bits.RotateLeft64(h, 29) ^ folded(binary.LittleEndian.Uint64(b))) * 0x9E3779B97F4A7C15
	}
	h = (bits.RotateLeft64(h, 29) ^ folded(fewer(b, 0))) * 0x9E3779B97F4A7C15
	return uint32(h>>32) | 1
}

// key is a hash of some words of a line without their digits; b has 16 bytes or more.
func key(b []byte) uint64 {
	h := uint64(0)
	for _, o := range [...]int{8, 24, 40, 56, 72} {
		o = min(o, len(b)-8)
		h = (bits.RotateLeft64(h, 29) ^ folded(binary.LittleEndian.Uint64(b[o:]))) * 0x9E3779B97F4A7C15
	}
	return h >> 40
}

// head is a hash of the first few dozen letters of a line.
func head(b []byte) uint32 {
	h, n := uint32(0), 0
	for _, c := range b {
		if isAlpha(c) {
			h = h*31 + uint32(c)
			if n++; n == 48 {
				break
			}
		}
	}
	return h * 0x9E3779B1 >> headShift
}

const (
	headBits  = 12
	headShift = 32 - headBits
)
