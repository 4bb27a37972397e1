package logformat

import "encoding/binary"

// Clean appends line to dst without ANSI escapes, with backspaces applied and
// without control bytes other than tab. Line has no \n or \r.
func Clean(dst, line []byte) []byte {
	i := plainPrefix(line)
	base := len(dst)
	dst = append(dst, line[:i]...)
	for i < len(line) {
		c := line[i]
		switch {
		case c == 0x1b:
			i += escapeLen(line[i:])
			continue
		case c == '\b':
			if len(dst) > base {
				dst = dst[:len(dst)-lastRune(dst[base:])]
			}
		case c >= 0x20 && c != 0x7f, c == '\t':
			dst = append(dst, c)
		}
		i++
	}
	return dst
}

// IsClean reports whether Clean would give the line as it is.
func IsClean(line []byte) bool { return plainPrefix(line) == len(line) }

// plainPrefix is how many bytes need no cleaning.
func plainPrefix(b []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for i+8 <= len(b) {
		w := binary.LittleEndian.Uint64(b[i:])
		del := w ^ 0x7f*ones // zero where the byte is 0x7f
		if ((w-0x20*ones)&^w|(del-ones)&^del)&highs != 0 {
			for end := i + 8; i < end; i++ {
				if !plainByte(b[i]) {
					return i
				}
			}
			continue
		}
		i += 8
	}
	for ; i < len(b); i++ {
		if !plainByte(b[i]) {
			return i
		}
	}
	return len(b)
}

func plainByte(c byte) bool { return c >= 0x20 && c != 0x7f || c == '\t' }

// lastRune is the length of the last UTF-8 character, as a terminal erases it.
func lastRune(b []byte) int {
	n := 1
	for n < len(b) && n < 4 && b[len(b)-n]&0xc0 == 0x80 {
		n++
	}
	return n
}

// escapeLen is the length of the escape sequence at the start of b.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
		}
		return len(b)
	case ']', 'P', '^', '_':
		return stringLen(b)
	case '(', ')', '*', '+', '#', '%', ' ':
		return min(3, len(b))
	}
	return 2
}

// stringLen is the length of an OSC or DCS string, which BEL or ESC \ ends. One
// that nothing ends loses only its introducer: the rest may be the program's.
func stringLen(b []byte) int {
	for i := 2; i < len(b); i++ {
		if b[i] == 0x07 {
			return i + 1
		}
		if b[i] == 0x1b {
			if i+1 < len(b) && b[i+1] == '\\' {
				return i + 2
			}
			break
		}
	}
	return 2
}
