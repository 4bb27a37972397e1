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

// of is how often each window of the literal occurs; it is written to dst.
func (c *Sample) of(l string, dst []int) []int {
	dst = dst[:0]
	for d := 0; d+4 <= len(l); d++ {
		dst = append(dst, int(c.counts[hash(window(l, d))]))
	}
	return dst
}

// Tune returns a scanner of the same literals that is quicker on text like the
// sample: of each literal it looks for the part that is rarest there. It finds
// what s finds, in another order.
func (s *Scanner) Tune(c *Sample) *Scanner {
	if c.counts == nil {
		return s
	}
	var of []int
	return build(s.lits, func(l string) int {
		of = c.of(l, of)
		best, at := -1, 0
		for i := 0; i+3 < len(of); i++ {
			if n := of[i] + of[i+1] + of[i+2] + of[i+3]; best < 0 || n < best {
				best, at = n, i
			}
		}
		if best == 0 { // several do not occur at all: which is rare elsewhere?
			return rarestOf(l, func(i int) bool { return of[i]+of[i+1]+of[i+2]+of[i+3] == 0 })
		}
		return at
	})
}
