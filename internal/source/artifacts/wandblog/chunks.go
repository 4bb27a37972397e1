package wandblog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
)

// The format: a header of the file, then blocks of blockSize, counted from the
// start of the file. A record is one chunk or several, none of which crosses a
// block; what is left of a block that is too short for a chunk's header is zero.
const (
	fileHeader  = 7
	chunkHeader = 7 // CRC-32 of type and payload, length, type
	blockSize   = 32 << 10
	maxRecord   = 64 << 20 // a larger one is not a record of a run
	windowSize  = 4 * blockSize
)

// Types of chunks.
const (
	full = iota + 1
	first
	middle
	last
)

// magic is what a transaction log begins with, its version (0) included.
var magic = []byte{':', 'W', '&', 'B', 0xe1, 0xbe, 0}

// errNoLog is a file that is no transaction log, or one of another version.
var errNoLog = errors.New("it does not begin as a W&B transaction log does")

// typeSum is the checksum of each type's byte.
var typeSum = [...]uint32{
	full: crc32.ChecksumIEEE([]byte{full}), first: crc32.ChecksumIEEE([]byte{first}),
	middle: crc32.ChecksumIEEE([]byte{middle}), last: crc32.ChecksumIEEE([]byte{last}),
}

// damage is what had to be skipped.
type damage struct {
	Places int   `json:"places,omitempty"`
	Bytes  int64 `json:"bytes,omitempty"`
}

// chunks gives the records of a file between two offsets, in order. Damaged
// blocks are passed over and counted.
type chunks struct {
	r    io.ReaderAt
	size int64 // of the file, as far as it is read
	at   int64 // of the next chunk
	// end is where the next record begins, after the last whole one: what lies
	// between it and size is torn.
	end    int64
	lost   damage
	window []byte
	start  int64 // of the window
	joined []byte
	err    error
}

// open begins at an offset where a record begins; 0 is the start of the file.
func open(r io.ReaderAt, from, size int64) (*chunks, error) {
	c := &chunks{r: r, size: size, at: from, end: from}
	if from > 0 {
		return c, nil
	}
	head := make([]byte, min(size, fileHeader))
	if n, err := r.ReadAt(head, 0); n < len(head) {
		return nil, err
	}
	if string(head) != string(magic[:len(head)]) {
		return nil, errNoLog
	}
	if len(head) == fileHeader {
		c.at, c.end = fileHeader, fileHeader
	}
	return c, nil
}

// next is the next whole record, valid until the following call. io.EOF means
// that there is none yet; any other error is one of reading.
func (c *chunks) next() ([]byte, error) {
	c.joined = c.joined[:0]
	from := c.at     // of the record that is being put together
	joining := false // its first chunk was seen
	for {
		kind, payload, ok := c.chunk()
		switch {
		case c.err != nil:
			return nil, c.err
		case !ok:
			return nil, io.EOF
		case kind == 0: // damaged: what was begun is lost too
			c.joined, joining, from = c.joined[:0], false, c.at
			continue
		case kind == full:
			if joining {
				c.lose(c.at - chunkHeader - int64(len(payload)) - from)
			}
			c.end = c.at
			return payload, nil
		case kind == first:
			if joining {
				c.lose(c.at - chunkHeader - int64(len(payload)) - from)
			}
			c.joined, joining = append(c.joined[:0], payload...), true
			from = c.at - chunkHeader - int64(len(payload))
		case !joining: // the rest of a record whose beginning was damaged
			c.lose(chunkHeader + int64(len(payload)))
			c.end = c.at
		case len(c.joined)+len(payload) > maxRecord:
			c.lose(c.at - from)
			c.joined, joining, c.end = c.joined[:0], false, c.at
		default:
			if c.joined = append(c.joined, payload...); kind == last {
				c.end = c.at
				return c.joined, nil
			}
		}
	}
}

// chunk reads the next chunk; kind is 0 where a block was damaged and the rest of
// it passed over, ok is false at the end of what is whole.
func (c *chunks) chunk() (kind byte, payload []byte, ok bool) {
	left := blockSize - c.at%blockSize
	if left < chunkHeader {
		c.at += left
		left = blockSize
	}
	head := c.bytes(chunkHeader)
	if head == nil {
		return 0, nil, false
	}
	sum, n, kind := binary.LittleEndian.Uint32(head), int64(binary.LittleEndian.Uint16(head[4:])), head[6]
	if kind < full || kind > last || chunkHeader+n > left {
		return 0, nil, c.pass(left, sum == 0 && n == 0 && kind == 0)
	}
	all := c.bytes(chunkHeader + n)
	if all == nil {
		return 0, nil, false
	}
	if payload = all[chunkHeader:]; crc32.Update(typeSum[kind], crc32.IEEETable, payload) != sum {
		return 0, nil, c.pass(left, false)
	}
	c.at += chunkHeader + n
	return kind, payload, true
}

// pass goes on at the next block, whose beginning is known. The last block of a
// file is left: it may be being written.
func (c *chunks) pass(left int64, padding bool) bool {
	if c.at+left >= c.size {
		return false
	}
	if !padding {
		c.lose(left)
	}
	c.at += left
	c.end = c.at
	return true
}

func (c *chunks) lose(n int64) {
	c.lost.Places++
	c.lost.Bytes += n
}

// bytes are the next n bytes, nil where the file has no more; n is at most a
// block.
func (c *chunks) bytes(n int64) []byte {
	if c.at+n > c.size {
		return nil
	}
	if c.at < c.start || c.at+n > c.start+int64(len(c.window)) {
		c.start = c.at - c.at%blockSize
		if c.window == nil {
			c.window = make([]byte, min(windowSize, c.size-c.start))
		}
		c.window = c.window[:min(int64(cap(c.window)), c.size-c.start)]
		k, err := c.r.ReadAt(c.window, c.start)
		if c.window = c.window[:k]; int64(k) < c.at+n-c.start {
			if err != nil && !errors.Is(err, io.EOF) {
				c.err = fmt.Errorf("after %d bytes: %w", c.start, err)
			}
			return nil // it became shorter
		}
	}
	return c.window[c.at-c.start:][:n]
}
