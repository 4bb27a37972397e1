package scan

import "encoding/binary"

// counts is how often windows occur in a sample, by their hash.
type counts [1 << bitmapBits]uint16

func (c *counts) add(sample []byte) {
	for i := 0; i+4 <= len(sample); i++ {
		h := hash(binary.LittleEndian.Uint32(sample[i:]) | fold)
		if c[h] < 1<<16-1 {
			c[h]++
		}
	}
}

// of is how often the windows of a 7-byte region of the literal occur.
func (c *counts) of(l string, at int) int {
	n := 0
	for d := at; d < at+4; d++ {
		n += int(c[hash(window(l, d))])
	}
	return n
}

// Tune returns a scanner of the same literals that is quicker on text like the
// sample: of each literal it looks for the part that is rarest there. It finds
// what s finds, in another order.
func (s *Scanner) Tune(sample []byte) *Scanner {
	var c counts
	c.add(sample)
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
