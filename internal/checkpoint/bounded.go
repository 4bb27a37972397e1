package checkpoint

import (
	"errors"
	"io"
)

// maxMember is how long one entry of a header may be, a tensor's or the whole of
// its metadata: a decoder holds an entry in memory.
const maxMember = 8 << 20

var errMember = errors.New("checkpoint: an entry of the header is too large to be read")

// bounded gives the text of a JSON object as long as none of its entries is larger
// than maxMember.
type bounded struct {
	r       io.Reader
	n       int // bytes of the entry at hand
	depth   int
	quoted  bool
	escaped bool
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	for _, c := range p[:n] {
		b.n++
		switch {
		case b.escaped:
			b.escaped = false
		case b.quoted && c == '\\':
			b.escaped = true
		case c == '"':
			b.quoted = !b.quoted
		case b.quoted:
		case c == '{' || c == '[':
			b.depth++
		case c == '}' || c == ']':
			b.depth--
		case c == ',' && b.depth == 1:
			b.n = 0
		}
		if b.n > maxMember {
			return 0, errMember
		}
	}
	return n, err
}
