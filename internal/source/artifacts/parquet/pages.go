package parquet

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

const (
	pageData = 0
	pageDict = 2
	pageV2   = 3

	codePlain   = 0
	codeOldDict = 2
	codeRLE     = 3
	codeDict    = 8
)

var errPage = errors.New("a page is damaged")

// pages reads the pages of one column of one row group.
type pages struct {
	c    *Column
	ch   chunk
	dict *values
}

// header is what a page says of itself.
type header struct {
	typ, plain, packed int64 // packed: bytes that follow
	values, encoding   int64
	defBytes, repBytes int64 // of a page of version 2, whose levels are never compressed
	compressed         bool
}

func (p *pages) read(n int) (out []string, err error) {
	from := p.ch.data
	if p.ch.dict > 0 && p.ch.dict < from {
		from = p.ch.dict
	}
	if p.ch.elsewhere {
		return nil, errors.New("its data lies in another file")
	}
	if from < 0 || p.ch.size < 0 {
		return nil, errPage
	}
	r := bufio.NewReaderSize(io.NewSectionReader(p.c.f.r, from, p.ch.size), 64<<10)
	for len(out) < n {
		h, err := nextHeader(r)
		if err != nil {
			return out, err
		}
		body, err := p.body(r, h)
		if err != nil {
			return out, err
		}
		switch h.typ {
		case pageDict:
			if h.values < 0 || h.values > maxDict {
				return out, errors.New("its dictionary is too large")
			}
			p.dict, err = p.c.plain(body, int(h.values))
		case pageData, pageV2:
			out, err = p.page(h, body, out, n)
		}
		if err != nil {
			return out, err
		}
	}
	return out, nil
}

// nextHeader reads the header of the next page; how long it is only shows
// while it is read.
func nextHeader(r *bufio.Reader) (header, error) {
	for size := 4 << 10; ; size *= 8 {
		b, err := r.Peek(min(size, r.Size()))
		t := &thrift{b: b}
		h := t.header()
		if t.err == nil && t.i > 0 {
			_, err := r.Discard(t.i)
			return h, err
		}
		if size >= r.Size() || err != nil {
			return h, errPage
		}
	}
}

func (t *thrift) header() header {
	h := header{compressed: true, typ: -1}
	t.fields(func(id int, typ byte) bool {
		switch {
		case id == 1:
			h.typ = t.int(typ)
		case id == 2:
			h.plain = t.int(typ)
		case id == 3:
			h.packed = t.int(typ)
		case (id == 5 || id == 7) && typ == typeStruct:
			t.numbers(map[int]*int64{1: &h.values, 2: &h.encoding}, nil)
		case id == 8 && typ == typeStruct:
			t.numbers(map[int]*int64{1: &h.values, 4: &h.encoding, 5: &h.defBytes, 6: &h.repBytes}, func(compressed bool) { h.compressed = compressed })
		default:
			return false
		}
		return true
	})
	return h
}

// numbers reads the integers of a struct; flag is its field 7.
func (t *thrift) numbers(into map[int]*int64, flag func(bool)) {
	t.fields(func(id int, typ byte) bool {
		if v := into[id]; v != nil {
			*v = t.int(typ)
			return true
		}
		if id == 7 && flag != nil {
			flag(t.int(typ) == 1)
			return true
		}
		return false
	})
}

// body is the page's bytes with its values decompressed.
func (p *pages) body(r io.Reader, h header) ([]byte, error) {
	if h.packed < 0 || h.packed > maxPage || h.plain < 0 || h.plain > maxPage {
		return nil, errors.New("a page is larger than is read here")
	}
	if p.c.f.decoded += h.plain + h.packed; p.c.f.decoded > maxDecoded {
		return nil, errors.New("there is more of it than is read here")
	}
	var b bytes.Buffer // grows with what is there
	if n, err := io.CopyN(&b, r, h.packed); err != nil || n < h.packed {
		return nil, errors.New("a page is cut off")
	}
	raw := b.Bytes()
	levels := h.defBytes + h.repBytes
	if h.typ != pageV2 {
		levels = 0
	}
	if h.defBytes < 0 || h.repBytes < 0 || levels > int64(len(raw)) {
		return nil, errPage
	}
	if !h.compressed || p.ch.codec == 0 {
		return raw, nil
	}
	plain, err := decompress(p.ch.codec, raw[levels:], h.plain-levels)
	if err != nil || levels == 0 {
		return plain, err
	}
	return append(raw[:levels:levels], plain...), nil
}

// page appends the values of a data page until there are n.
func (p *pages) page(h header, b []byte, out []string, n int) ([]string, error) {
	if h.values < 0 {
		return out, errPage
	}
	count := int(min(h.values, int64(n-len(out))))
	levels, b, err := p.levels(h, b, count)
	if err != nil {
		return out, err
	}
	there := count
	if levels != nil {
		there = 0
		for _, l := range levels {
			if int(l) == p.c.def {
				there++
			}
		}
	}
	get, err := p.values(h, b, there)
	if err != nil {
		return out, err
	}
	k := 0
	for i := range count {
		if levels != nil && int(levels[i]) != p.c.def {
			out = append(out, "")
			continue
		}
		out = append(out, get(k))
		k++
	}
	return out, nil
}

// levels says which values are there; nil means all of them.
func (p *pages) levels(h header, b []byte, count int) ([]uint32, []byte, error) {
	def := b
	switch {
	case h.typ == pageV2:
		def, b = b[min(h.repBytes, int64(len(b))):], b[min(h.defBytes+h.repBytes, int64(len(b))):]
		def = def[:min(h.defBytes, int64(len(def)))]
	case p.c.def > 0:
		if len(b) < 4 || int64(binary.LittleEndian.Uint32(b)) > int64(len(b)-4) {
			return nil, nil, errPage
		}
		size := int(binary.LittleEndian.Uint32(b))
		def, b = b[4:4+size], b[4+size:]
	}
	if p.c.def == 0 {
		return nil, b, nil
	}
	levels, err := hybrid(def, p.c.levelBits(), count)
	return levels, b, err
}

// values is a function that gives the i-th of n values of a data page.
func (p *pages) values(h header, b []byte, n int) (func(int) string, error) {
	if n == 0 {
		return func(int) string { return "" }, nil
	}
	switch {
	case h.encoding == codePlain:
		v, err := p.c.plain(b, n)
		if err != nil {
			return nil, err
		}
		return v.text, nil
	case (h.encoding == codeDict || h.encoding == codeOldDict) && p.dict != nil && len(b) > 0:
		index, err := hybrid(b[1:], int(b[0]), n)
		if err != nil {
			return nil, err
		}
		for _, i := range index {
			if int64(i) >= int64(p.dict.n) {
				return nil, errPage
			}
		}
		return func(i int) string { return p.dict.text(int(index[i])) }, nil
	case h.encoding == codeRLE && p.c.typ == boolean && len(b) > 4:
		bit, err := hybrid(b[4:], 1, n)
		if err != nil {
			return nil, err
		}
		return func(i int) string { return boolText(bit[i] == 1) }, nil
	}
	return nil, fmt.Errorf("its values are coded in a way (%d) that is not read here", h.encoding)
}
