package scan

import "encoding/binary"

// Sample is how often windows occur in a text, by their hash. Its zero value is
// an empty one.
type Sample struct{ counts []uint16 }

// Add counts the windows of more of the text.
func (c *Sample) Add(text []byte) {
	if c.counts == nil {
		c.counts = make([]uint16, 1<<bitmapBits)
	}
	for i := 0; i+4 <= len(text); i++ {
		h := hash(binary.LittleEndian.Uint32(text[i:]) | fold)
		if c.counts[h] < 1<<16-1 {
			c.counts[h]++
		}
	}
}

// of is how often the windows of a 7-byte region of the literal occur.
func (c *Sample) of(l string, at int) int {
	n := 0
	for d := at; d < at+4; d++ {
		n += int(c.counts[hash(window(l, d))])
	}
	return n
}

// Tune returns a scanner of the same literals that is quicker on text like the
// sample: of each literal it looks for the part that is rarest there. It finds
// what s finds, in another order.
func (s *Scanner) Tune(c *Sample) *Scanner {
	if c.counts == nil {
		return s
	}
	return build(s.lits, func(l string) int {
		best, at := -1, 0
		for i := 0; i+MinLiteral <= len(l); i++ {
			if n := c.of(l, i); best < 0 || n < best {
				best, at = n, i
			}
		}
		if best == 0 { // several do not occur at all: which is rare elsewhere?
			return rarestOf(l, func(i int) bool { return c.of(l, i) == 0 })
		}
		return at
	})
}
