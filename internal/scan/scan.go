// Package scan finds which of many literals occur in a block of text, in one
// pass at memory speed, without regard to ASCII case. It is the filter before
// the regexps: a literal that occurs is always reported, at every place; what
// is not reported does not occur.
package scan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// MinLiteral is the shortest literal the filter takes, in bytes: only then does
// one of its 4-byte windows start at a multiple of four whatever its alignment.
const MinLiteral = 7

const (
	bitmapBits = 18
	fold       = 0x20202020
	multiplier = 0x9E3779B1
)

// Scanner is a compiled set of literals. It is safe for concurrent use.
type Scanner struct {
	lits   []literal
	bitmap [1 << bitmapBits / 64]uint64
	// An open hash table from windows to runs of entries.
	slots   []slot
	mask    uint32
	entries []entry
}

// slot is a window and where its entries are; n is 0 in an empty one.
type slot struct {
	window   uint32
	first, n int32
}

// Hit is one occurrence of a literal: of which pattern, and where it begins.
type Hit struct{ Pattern, At int }

type literal struct {
	text string // folded
	id   int
}

// entry is a literal that holds a window, and eight of its bytes, that of which it
// has fewer: most places where the window stands differ in these.
type entry struct {
	word, keep uint64
	back       int32 // from the window to these bytes
	delta      int32 // and to the beginning of the literal
	lit        int32
}

// Compile builds a scanner. Literals[i] lists the any-of literals of pattern i.
func Compile(literals [][]string) (*Scanner, error) {
	var lits []literal
	for id, any := range literals {
		for _, l := range any {
			if len(l) < MinLiteral {
				return nil, fmt.Errorf("scan: literal %q of pattern %d: shorter than %d bytes", l, id, MinLiteral)
			}
			lits = append(lits, literal{foldString(l), id})
		}
	}
	return build(lits, rarest), nil
}

// build makes the tables; region is where in a literal the windows begin.
func build(lits []literal, region func(string) int) *Scanner {
	size := 64
	for size < 16*len(lits) {
		size *= 2
	}
	s := &Scanner{lits: lits, slots: make([]slot, size), mask: uint32(size - 1), entries: make([]entry, 4*len(lits))}
	at := make([]int, len(lits))
	for n := range lits {
		at[n] = region(lits[n].text)
		for d := at[n]; d < at[n]+4; d++ {
			s.slot(window(lits[n].text, d)).n++
		}
	}
	end := int32(0)
	for i := range s.slots {
		end += s.slots[i].n
		s.slots[i].first = end
	}
	for n := range lits {
		for d := at[n]; d < at[n]+4; d++ {
			w := s.slot(window(lits[n].text, d))
			w.first--
			s.entries[w.first] = newEntry(lits[n].text, n, at[n], d)
		}
	}
	return s
}

// newEntry is the entry for the window at d of the literal, whose region begins at.
func newEntry(l string, lit, at, d int) entry {
	e := entry{delta: int32(d), lit: int32(lit)}
	from := max(0, min(at, len(l)-8))
	e.back = int32(d - from)
	for k := 0; k < 8 && from+k < len(l); k++ {
		e.word |= uint64(l[from+k]) << (8 * k)
		e.keep |= 0xff << (8 * k)
	}
	return e
}

// window is the folded window of a literal at d.
func window(l string, d int) uint32 {
	return uint32(l[d]) | uint32(l[d+1])<<8 | uint32(l[d+2])<<16 | uint32(l[d+3])<<24 | fold
}

// slot is the slot of a window, which is entered if it is not yet.
func (s *Scanner) slot(w uint32) *slot {
	h := hash(w)
	s.bitmap[h>>6] |= 1 << (h & 63)
	p := h & s.mask
	for s.slots[p].n > 0 && s.slots[p].window != w {
		p = (p + 1) & s.mask
	}
	s.slots[p].window = w
	return &s.slots[p]
}

// Block appends to hits every occurrence of a literal in b, in the order of the
// windows that found it: offsets ascend but for overlapping literals. One pattern
// may be found at one place by two of its literals.
func (s *Scanner) Block(b []byte, hits []Hit) []Hit {
	bm := &s.bitmap
	i := 0
	for ; i+32 <= len(b); i += 32 {
		q := (*[32]byte)(b[i:])
		h0 := hash(binary.LittleEndian.Uint32(q[0:]) | fold)
		h1 := hash(binary.LittleEndian.Uint32(q[4:]) | fold)
		h2 := hash(binary.LittleEndian.Uint32(q[8:]) | fold)
		h3 := hash(binary.LittleEndian.Uint32(q[12:]) | fold)
		h4 := hash(binary.LittleEndian.Uint32(q[16:]) | fold)
		h5 := hash(binary.LittleEndian.Uint32(q[20:]) | fold)
		h6 := hash(binary.LittleEndian.Uint32(q[24:]) | fold)
		h7 := hash(binary.LittleEndian.Uint32(q[28:]) | fold)
		m0 := bm[h0>>6]>>(h0&63)&1 | bm[h1>>6]>>(h1&63)&1<<1 | bm[h2>>6]>>(h2&63)&1<<2 | bm[h3>>6]>>(h3&63)&1<<3
		m1 := bm[h4>>6]>>(h4&63)&1 | bm[h5>>6]>>(h5&63)&1<<1 | bm[h6>>6]>>(h6&63)&1<<2 | bm[h7>>6]>>(h7&63)&1<<3
		for m := m0 | m1<<4; m != 0; m &= m - 1 {
			hits = s.at(b, i+4*bits.TrailingZeros64(m), hits)
		}
	}
	for ; i+4 <= len(b); i += 4 {
		hits = s.at(b, i, hits)
	}
	return hits
}

// at looks up the window at i and compares the literals that hold it.
func (s *Scanner) at(b []byte, i int, hits []Hit) []Hit {
	w := binary.LittleEndian.Uint32(b[i:]) | fold
	p := hash(w) & s.mask
	for s.slots[p].window != w {
		if s.slots[p].n == 0 {
			return hits
		}
		p = (p + 1) & s.mask
	}
	first := s.slots[p].first
	for k := range s.entries[first : first+s.slots[p].n] {
		e := &s.entries[int(first)+k]
		if o := i - int(e.back); o >= 0 && o+8 <= len(b) && (binary.LittleEndian.Uint64(b[o:])|fold<<32|fold)&e.keep != e.word {
			continue
		}
		at := i - int(e.delta)
		l := &s.lits[e.lit]
		if at >= 0 && at+len(l.text) <= len(b) && equalFold(b[at:at+len(l.text)], l.text) {
			hits = append(hits, Hit{l.id, at})
		}
	}
	return hits
}

func hash(w uint32) uint32 { return (w * multiplier) >> (32 - bitmapBits) }

// equalFold compares b with the folded l without regard to ASCII case. Every
// byte is folded with |0x20, which also joins a few punctuation marks: the
// caller's exact compare or regexp decides.
func equalFold(b []byte, l string) bool {
	for i := range b {
		if b[i]|0x20 != l[i] {
			return false
		}
	}
	return true
}

func foldString(s string) string {
	b := []byte(s)
	for i := range b {
		b[i] |= 0x20
	}
	return string(b)
}

// common holds the bytes that make a window frequent in training logs, most
// frequent first; digits, spaces and dots stand in every metric line.
const common = " 0123456789.,:=-|/_eatsoinrlpdcmgu"

// rarest is the start of the 7-byte region of the folded literal whose windows
// should be rarest in a log.
func rarest(l string) int { return rarestOf(l, func(int) bool { return true }) }

func rarestOf(l string, may func(at int) bool) int {
	best, at := -1, 0
	for i := 0; i+MinLiteral <= len(l); i++ {
		if !may(i) {
			continue
		}
		score := 0
		for j := i; j < i+MinLiteral; j++ {
			score += rarities[l[j]]
		}
		if score > best {
			best, at = score, i
		}
	}
	return at
}

var rarities = func() (t [256]int) {
	for c := range t {
		t[c] = 2 * len(common)
	}
	for i := range len(common) {
		t[common[i]] = i
	}
	return t
}()
