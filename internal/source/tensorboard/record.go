package tensorboard

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// A record is LE64 length, LE32 checksum of those eight bytes, the data, LE32
// checksum of the data (tensorflow core/lib/io/record_writer.h).
const (
	headLen = 12
	footLen = 4
	// maxRecord is the largest record that is taken into memory; only graphs and
	// images are larger, and they hold no scalar.
	maxRecord = 16 << 20
	piece     = 1 << 20 // bytes read at once

	// maxBroken is how many bytes of records whose checksum is wrong are read before
	// such a record is passed over whole: the next one could lie within it, and so
	// could a thousand more.
	maxBroken  = 1 << 30
	maxDamaged = 4 << 30 // bytes that are searched for records in one look
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum is the masked CRC32C.
func checksum(b []byte) uint32 {
	c := crc32.Checksum(b, castagnoli)
	return (c>>15 | c<<17) + 0xa282ead8
}

// place is where the reading of an event file stands: at the record that begins
// at Off, or, when Lost, in damaged bytes of which those before Off are searched.
type place struct {
	Off  int64
	Lost bool
}

// records reads an event file from a place on.
type records struct {
	r    io.ReaderAt
	size int64
	at   place
	buf  []byte // the bytes from base on that were read
	base int64

	damaged int   // stretches of bytes that are no records
	firstAt int64 // where the first one begins
	huge    int   // records that were too large to be read
	broken  int64 // bytes of records whose checksum is wrong
	passed  int64 // damaged bytes
	ctx     context.Context
}

// next gives the data of the next whole record and where the record begins, nil
// when the file has no more of them now. The data is valid until the next call.
func (r *records) next() (data []byte, at int64, err error) {
	for {
		head, err := r.bytes(r.at.Off, headLen)
		if head == nil || err != nil {
			return nil, 0, err
		}
		n := binary.LittleEndian.Uint64(head)
		if checksum(head[:8]) != binary.LittleEndian.Uint32(head[8:]) || n > 1<<40 {
			r.skip(1)
			continue
		}
		at, whole := r.at.Off, int64(n)+headLen+footLen
		if n > maxRecord {
			if at+whole > r.size { // not written yet
				return nil, 0, nil
			}
			r.huge++
			r.at = place{Off: at + whole}
			continue
		}
		rec, err := r.bytes(at, int(whole))
		if err != nil || rec == nil { // not written yet
			return nil, 0, err
		}
		if checksum(rec[headLen:headLen+n]) != binary.LittleEndian.Uint32(rec[headLen+n:]) {
			if r.broken += whole; r.broken < maxBroken {
				whole = 1
			}
			r.skip(whole)
			continue
		}
		r.at = place{Off: at + whole}
		return rec[headLen : headLen+n], at, nil
	}
}

var errDamaged = fmt.Errorf("it has more than %d GB of damaged bytes; what comes behind them was not read", maxDamaged>>30)

// skip passes over damaged bytes.
func (r *records) skip(n int64) {
	r.passed += n
	if !r.at.Lost {
		if r.damaged++; r.damaged == 1 {
			r.firstAt = r.at.Off
		}
	}
	r.at = place{r.at.Off + n, true}
}

// bytes are n bytes at an offset, nil when the file ends before them.
func (r *records) bytes(off int64, n int) ([]byte, error) {
	if i := off - r.base; i >= 0 && i+int64(n) <= int64(len(r.buf)) {
		return r.buf[i : i+int64(n)], nil
	}
	if off+int64(n) > r.size {
		return nil, nil
	}
	if err := r.ctx.Err(); err != nil {
		return nil, err
	}
	if r.passed > maxDamaged {
		return nil, errDamaged
	}
	want := min(int64(max(n, piece)), r.size-off)
	if int64(cap(r.buf)) < want {
		r.buf = make([]byte, want)
	}
	r.buf, r.base = r.buf[:want], off
	k, err := r.r.ReadAt(r.buf, off)
	r.buf = r.buf[:k]
	if k < n {
		if err == io.EOF { // it was cut while it was read
			return nil, nil
		}
		return nil, err
	}
	return r.buf[:n], nil
}
