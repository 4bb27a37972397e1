package parquet

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

var codecs = []string{"none", "snappy", "gzip", "LZO", "brotli", "LZ4", "zstd", "LZ4"}

func decompress(codec int64, b []byte, size int64) ([]byte, error) {
	if size <= 0 || len(b) == 0 {
		return nil, nil
	}
	switch codec {
	case 1:
		if n, err := s2.DecodedLen(b); err != nil || int64(n) > size {
			return nil, errPage
		}
		out, err := s2.Decode(nil, b)
		if err != nil {
			return nil, errPage
		}
		return out, nil
	case 2:
		z, err := gzip.NewReader(bytes.NewReader(b))
		if err != nil {
			return nil, errPage
		}
		return readAll(z, size)
	case 6:
		z, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxPage))
		if err != nil {
			return nil, errPage
		}
		defer z.Close()
		return readAll(z, size)
	}
	if codec > 0 && codec < int64(len(codecs)) {
		return nil, fmt.Errorf("it is compressed with %s, which is not read here", codecs[codec])
	}
	return nil, errPage
}

func readAll(r io.Reader, size int64) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, size))
	if err != nil {
		return nil, errPage
	}
	return b, nil
}

// hybrid reads n numbers of a bit width in Parquet's mix of runs and packed bits.
func hybrid(b []byte, width, n int) ([]uint32, error) {
	if width < 0 || width > 32 {
		return nil, errPage
	}
	out := make([]uint32, 0, n)
	t := &thrift{b: b}
	for len(out) < n {
		h := t.varint()
		if t.err != nil {
			return nil, errPage
		}
		if h&1 == 0 {
			v := uint32(0)
			for i := range (width + 7) / 8 {
				v |= uint32(t.byte()) << (8 * i)
			}
			if t.err != nil || h == 0 {
				return nil, errPage
			}
			for k := min(h>>1, uint64(n-len(out))); k > 0; k-- {
				out = append(out, v)
			}
			continue
		}
		if h>>1 == 0 {
			return nil, errPage
		}
		k := int(min(h>>1*8, uint64(n-len(out))))
		packed := b[t.i:]
		if (k*width+7)/8 > len(packed) {
			return nil, errPage
		}
		for i := range k {
			out = append(out, unpack(packed, i*width, width))
		}
		t.i += int(min(h>>1*uint64(width), uint64(len(packed))))
	}
	return out, nil
}

// unpack takes width bits from a bit on, the lowest first.
func unpack(b []byte, bit, width int) (v uint32) {
	for i := range width {
		v |= uint32(b[(bit+i)/8]>>((bit+i)%8)&1) << i
	}
	return v
}
