package tail

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"strings"
)

// printLen is how many bytes before Given a fingerprint covers, and surePrint
// how many it takes to tell a file by its fingerprint alone.
const (
	printLen  = 256
	surePrint = 64
)

// Cursor is where the reading of a growing file stands. Its String goes into a
// journal and comes back by ParseCursor.
type Cursor struct {
	Ident  string // device and inode, or what else tells a new file of the same name
	Size   int64  // size at the last look
	Line   int64  // up to here whole lines were given
	Given  int64  // up to here bytes were given; beyond Line it is a line without its end
	Number int    // of the line at Line, from 1, counting \n; 0 when nobody counted
	Print  uint64 // fingerprint of the last bytes before Given
}

// At is the cursor of a file that was read up to a place, where the line of that
// number ends or goes on.
func At(ra io.ReaderAt, at int64, ident string, number int) (Cursor, error) {
	line, err := Whole(ra, max(0, at-block), at)
	if err != nil {
		return Cursor{}, err
	}
	b, err := ending(ra, at)
	return Cursor{Ident: ident, Size: at, Line: line, Given: at, Number: number, Print: sum(b)}, err
}

// String is the form that ParseCursor reads.
func (c Cursor) String() string {
	return fmt.Sprintf("%d %d %d %d %x %s", c.Size, c.Line, c.Given, c.Number, c.Print, c.Ident)
}

// ParseCursor reads what String wrote; anything else is the zero Cursor.
func ParseCursor(s string) Cursor {
	var c Cursor
	f := strings.SplitN(s, " ", 6)
	if len(f) != 6 {
		return Cursor{}
	}
	if _, err := fmt.Sscanf(strings.Join(f[:5], " "), "%d %d %d %d %x", &c.Size, &c.Line, &c.Given, &c.Number, &c.Print); err != nil ||
		c.Line < 0 || c.Given < c.Line || c.Size < c.Given || c.Number < 0 {
		return Cursor{}
	}
	c.Ident = f[5]
	return c
}

// Fate is what became of a file since the last look.
type Fate int

// The fates. A Holed file was truncated under a writer that goes on at its old
// place: what lies before that place reads as NUL bytes.
const (
	Same Fate = iota
	Replaced
	Truncated
	Holed
)

// Fate tells whether the file at hand is the one that the cursor stands in. A
// file with another identity and the same bytes is the same: rsync and editors
// put a new file in the place of the old one.
func (c Cursor) Fate(ra io.ReaderAt, size int64, ident string) (Fate, error) {
	if c == (Cursor{}) {
		return Same, nil
	}
	same := c.Ident == ident
	if size < c.Given {
		if same {
			return Truncated, nil
		}
		return Replaced, nil
	}
	match, hole, err := c.matches(ra)
	switch {
	case err != nil:
		return Same, err
	case match && (same || c.Given >= surePrint):
		return Same, nil
	case !same:
		return Replaced, nil
	case hole:
		return Holed, nil
	}
	return Truncated, nil
}

// Copied reports whether a file holds what was read of another one: the copy
// that is made before a log is truncated.
func (c Cursor) Copied(ra io.ReaderAt, size int64) (bool, error) {
	if size < c.Given || c.Given < surePrint {
		return false, nil
	}
	match, _, err := c.matches(ra)
	return match, err
}

func (c Cursor) matches(ra io.ReaderAt) (match, hole bool, err error) {
	b, err := ending(ra, c.Given)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return false, false, nil // it shrank while we looked
	}
	return err == nil && sum(b) == c.Print, len(b) > 0 && len(bytes.Trim(b, "\x00")) == 0, err
}

// Piece is what a look at a file gives: the bytes [From, To), the number of the
// line at From (0 when nobody counted), and where the next look goes on. More
// says that the file has more than the look was allowed to give.
type Piece struct {
	From, To int64
	Number   int
	Next     Cursor
	More     bool
}

// Look says what of a file is new. The first look gives everything, so that a
// single look at a dead run misses nothing. A later one gives whole lines; the
// rest waits until it is whole or until a look finds that the file has stopped
// growing. A line that was given without its end is given again from its
// beginning. The file MUST be the cursor's own: see Fate.
//
// limit bounds the bytes of one look; a line longer than that is given in
// pieces. 0 is no bound, and then the first look does not count lines.
func (c Cursor) Look(ra io.ReaderAt, size int64, ident string, limit int64) (Piece, error) {
	first := c == Cursor{}
	next := c
	next.Ident, next.Size = ident, size
	p := Piece{From: c.Given, To: c.Given, Next: next}
	if size == c.Given && !first {
		return p, nil
	}
	end := size
	if limit > 0 {
		end = min(size, c.Given+limit)
	}
	p.More = end < size
	line, err := Whole(ra, c.Line, end)
	if err != nil {
		return p, err
	}
	to := line
	switch {
	case p.More && line <= c.Given: // a line longer than the bound
		line, to = end, end
	case !p.More && (first || size == c.Size):
		to = end
	}
	if to <= c.Given && !first { // the unfinished line grew and is not finished yet
		return p, nil
	}
	p.From, p.To = c.Line, to
	p.Next.Line, p.Next.Given = line, to
	if err := p.number(ra, c, first && limit == 0); err != nil {
		return p, err
	}
	b, err := ending(ra, to)
	p.Next.Print = sum(b)
	return p, err
}

// number counts lines, unless that can wait for a later look.
func (p *Piece) number(ra io.ReaderAt, c Cursor, wait bool) error {
	p.Number = c.Number
	if c.Line == 0 {
		p.Number = 1
	}
	if wait {
		p.Next.Number = 0
		return nil
	}
	if p.Number == 0 {
		n, err := CountLines(ra, c.Line)
		if err != nil {
			return err
		}
		p.Number = n + 1
	}
	n, err := CountLines(io.NewSectionReader(ra, c.Line, p.Next.Line-c.Line), p.Next.Line-c.Line)
	p.Next.Number = p.Number + n
	return err
}

// ending is what a fingerprint at a place covers.
func ending(ra io.ReaderAt, at int64) ([]byte, error) {
	if at == 0 {
		return nil, nil
	}
	b, _, err := before(ra, make([]byte, printLen), at)
	return b, err
}

func sum(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

// PastHole is where a Holed file goes on: it has no line ends before.
func (c Cursor) PastHole(ra io.ReaderAt) (Cursor, error) {
	b, err := ending(ra, c.Given)
	c.Line, c.Number, c.Print = c.Given, 1, sum(b)
	return c, err
}
