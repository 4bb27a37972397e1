package tail

import (
	"bufio"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// utf16Reader gives UTF-16 text as UTF-8, without its byte order mark; a lone
// surrogate and a last half unit become U+FFFD.
type utf16Reader struct {
	src     *bufio.Reader
	big     bool
	started bool
	out     []byte
	held    rune // a unit read ahead, -1 when none
}

func newUTF16(src *bufio.Reader, big bool) *utf16Reader {
	return &utf16Reader{src: src, big: big, held: -1}
}

// Read implements io.Reader.
func (u *utf16Reader) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	for len(u.out) < len(p) && len(u.out) < 32<<10 {
		r, err := u.next()
		if err != nil {
			if len(u.out) > 0 {
				break
			}
			return 0, err
		}
		u.out = utf8.AppendRune(u.out, r)
	}
	n := copy(p, u.out)
	u.out = u.out[:copy(u.out, u.out[n:])]
	return n, nil
}

func (u *utf16Reader) next() (rune, error) {
	c, err := u.unit()
	if err != nil {
		return 0, err
	}
	if !u.started {
		if u.started = true; c == 0xfeff {
			return u.next()
		}
	}
	if !utf16.IsSurrogate(c) {
		return c, nil
	}
	low, err := u.unit()
	if err != nil {
		return utf8.RuneError, nil
	}
	if r := utf16.DecodeRune(c, low); r != utf8.RuneError {
		return r, nil
	}
	u.held = low
	return utf8.RuneError, nil
}

func (u *utf16Reader) unit() (rune, error) {
	if h := u.held; h >= 0 {
		u.held = -1
		return h, nil
	}
	a, err := u.src.ReadByte()
	if err != nil {
		return 0, err
	}
	b, err := u.src.ReadByte()
	if errors.Is(err, io.EOF) {
		return utf8.RuneError, nil
	}
	if err != nil {
		return 0, err
	}
	if u.big {
		a, b = b, a
	}
	return rune(a) | rune(b)<<8, nil
}
