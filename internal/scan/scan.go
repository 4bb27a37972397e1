// Package scan finds which of many literals occur in a block of text, in one
// pass at memory speed, without regard to ASCII case. It is the filter before
// the regexps: a literal that occurs is always reported, at every place; what
// is not reported does not occur.
package scan

import (
	"encoding/binary"
	"fmt"
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
	lits    []literal
	bitmap  []uint64
	buckets map[uint32][]entry
}

type literal struct {
	text string // folded
	id   int
}

type entry struct {
	lit   int32
	delta int32 // offset of the window in the literal
}

// Compile builds a scanner. Literals[i] lists the any-of literals of pattern i.
func Compile(literals [][]string) (*Scanner, error) {
	s := &Scanner{bitmap: make([]uint64, 1<<bitmapBits/64), buckets: map[uint32][]entry{}}
	for id, any := range literals {
		for _, l := range any {
			if len(l) < MinLiteral {
				return nil, fmt.Errorf("scan: literal %q of pattern %d: shorter than %d bytes", l, id, MinLiteral)
			}
			s.add(id, foldString(l))
		}
	}
	return s, nil
}

func (s *Scanner) add(id int, l string) {
	n := int32(len(s.lits))
	s.lits = append(s.lits, literal{l, id})
	at := rarest(l)
	for d := at; d < at+4; d++ {
		w := binary.LittleEndian.Uint32([]byte(l[d:d+4])) | fold
		h := hash(w)
		s.bitmap[h>>6] |= 1 << (h & 63)
		s.buckets[w] = append(s.buckets[w], entry{n, int32(d)})
	}
}

// Block calls hit for every occurrence of a literal in b, in the order of the
// windows that found it: offsets ascend but for overlapping literals.
func (s *Scanner) Block(b []byte, hit func(pattern, offset int)) {
	bm := s.bitmap
	for i := 0; i+4 <= len(b); i += 4 {
		w := binary.LittleEndian.Uint32(b[i:]) | fold
		h := hash(w)
		if bm[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for _, e := range s.buckets[w] {
			at := i - int(e.delta)
			l := &s.lits[e.lit]
			if at >= 0 && at+len(l.text) <= len(b) && equalFold(b[at:at+len(l.text)], l.text) {
				hit(l.id, at)
			}
		}
	}
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
func rarest(l string) int {
	best, at := -1, 0
	for i := 0; i+MinLiteral <= len(l); i++ {
		score := 0
		for j := i; j < i+MinLiteral; j++ {
			score += rarity(l[j])
		}
		if score > best {
			best, at = score, i
		}
	}
	return at
}

func rarity(c byte) int {
	for i := range len(common) {
		if common[i] == c {
			return i
		}
	}
	return 2 * len(common)
}
