package tail

import (
	"fmt"
	"io"
	"strings"
)

// Cursor is where the reading of a growing file stands. Its String goes into a
// journal and comes back by ParseCursor.
type Cursor struct {
	Ident string // device and inode, or what else tells a new file of the same name
	Size  int64  // size at the last look
	Line  int64  // up to here whole lines were given
	Given int64  // up to here bytes were given; beyond Line it is a line without its end
}

// String is the form that ParseCursor reads.
func (c Cursor) String() string { return fmt.Sprintf("%d %d %d %s", c.Size, c.Line, c.Given, c.Ident) }

// ParseCursor reads what String wrote; anything else is the zero Cursor.
func ParseCursor(s string) Cursor {
	var c Cursor
	f := strings.SplitN(s, " ", 4)
	if len(f) != 4 {
		return Cursor{}
	}
	if _, err := fmt.Sscanf(strings.Join(f[:3], " "), "%d %d %d", &c.Size, &c.Line, &c.Given); err != nil ||
		c.Line < 0 || c.Given < c.Line || c.Size < c.Given {
		return Cursor{}
	}
	c.Ident = f[3]
	return c
}

// Look says what of a file is new: the bytes [from, to). The first look gives
// everything, so that a single look at a dead run misses nothing. A later one
// gives whole lines; the rest waits until it is whole or until a look finds
// that the file has stopped growing. A line that was given without its end is
// given again from its beginning. A file that shrank or was replaced starts
// anew.
func (c Cursor) Look(ra io.ReaderAt, size int64, ident string) (from, to int64, next Cursor, err error) {
	first := c == Cursor{} || c.Ident != ident || size < c.Size
	if first {
		c = Cursor{}
	}
	next = Cursor{Ident: ident, Size: size, Line: c.Line, Given: c.Given}
	if size == c.Size && size == c.Given && !first {
		return size, size, next, nil
	}
	if next.Line, err = Whole(ra, c.Line, size); err != nil {
		return 0, 0, Cursor{}, err
	}
	to = next.Line
	if first || size == c.Size {
		to = size
	}
	if to <= c.Given { // the unfinished line grew and is not finished yet
		return c.Given, c.Given, next, nil
	}
	next.Given = to
	return c.Line, to, next, nil
}
