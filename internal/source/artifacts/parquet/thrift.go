package parquet

import (
	"errors"
)

// The types of Thrift's compact protocol that matter here.
const (
	typeTrue   = 1
	typeFalse  = 2
	typeByte   = 3
	typeI64    = 6
	typeDouble = 7
	typeBinary = 8
	typeList   = 9
	typeSet    = 10
	typeMap    = 11
	typeStruct = 12

	maxDepth = 64
)

var errThrift = errors.New("parquet: the description is damaged")

// thrift reads Thrift's compact protocol. After an error everything reads as
// zero and no loop goes on.
type thrift struct {
	b     []byte
	i     int
	depth int
	err   error
}

func (t *thrift) fail() { t.err = errThrift }

func (t *thrift) byte() byte {
	if t.err != nil || t.i >= len(t.b) {
		t.fail()
		return 0
	}
	t.i++
	return t.b[t.i-1]
}

func (t *thrift) varint() (v uint64) {
	for s := 0; s < 64; s += 7 {
		c := t.byte()
		v |= uint64(c&0x7f) << s
		if c < 0x80 {
			return v
		}
	}
	t.fail()
	return 0
}

func (t *thrift) zigzag() int64 {
	v := t.varint()
	return int64(v>>1) ^ -int64(v&1)
}

// int reads an integer or a boolean.
func (t *thrift) int(typ byte) int64 {
	switch {
	case typ == typeTrue:
		return 1
	case typ == typeFalse:
		return 0
	case typ == typeByte:
		return int64(int8(t.byte()))
	case typ > typeByte && typ <= typeI64:
		return t.zigzag()
	}
	t.fail()
	return 0
}

// bytes reads a string; it is a part of the input, no copy.
func (t *thrift) bytes(typ byte) []byte {
	n := t.varint()
	if typ != typeBinary || t.err != nil || n > uint64(len(t.b)-t.i) {
		t.fail()
		return nil
	}
	t.i += int(n)
	return t.b[t.i-int(n) : t.i]
}

// fields gives each field of a struct; one that take declines is skipped.
func (t *thrift) fields(take func(id int, typ byte) bool) {
	if t.depth++; t.depth > maxDepth {
		t.fail()
	}
	defer func() { t.depth-- }()
	id := 0
	for t.err == nil {
		h := t.byte()
		typ := h & 0x0f
		if typ == 0 {
			return
		}
		if d := int(h >> 4); d > 0 {
			id += d
		} else {
			id = int(int16(t.zigzag()))
		}
		if t.err == nil && !take(id, typ) {
			t.skip(typ)
		}
	}
}

// list gives the type of each element, which each MUST read; more than limit
// elements are an error unless limit is 0.
func (t *thrift) list(each func(typ byte), limit int) {
	h := t.byte()
	n, typ := uint64(h>>4), h&0x0f
	if n == 15 {
		n = t.varint()
	}
	if n > uint64(len(t.b)-t.i) || limit > 0 && n > uint64(limit) {
		t.fail()
	}
	for ; n > 0 && t.err == nil; n-- {
		each(typ)
	}
}

func (t *thrift) skip(typ byte) {
	switch typ {
	case typeTrue, typeFalse:
	case typeDouble:
		if t.i += 8; t.i > len(t.b) {
			t.i = len(t.b)
			t.fail()
		}
	case typeBinary:
		t.bytes(typ)
	case typeList, typeSet:
		if t.depth++; t.depth > maxDepth {
			t.fail()
		}
		t.list(t.skipElement, 0)
		t.depth--
	case typeMap:
		t.skipMap()
	case typeStruct:
		t.fields(func(int, byte) bool { return false })
	default:
		t.int(typ)
	}
}

// skipElement: in a list a boolean has a byte of its own.
func (t *thrift) skipElement(typ byte) {
	if typ == typeTrue || typ == typeFalse {
		t.byte()
		return
	}
	t.skip(typ)
}

func (t *thrift) skipMap() {
	n := t.varint()
	if n == 0 || t.err != nil {
		return
	}
	kv := t.byte()
	if t.depth++; t.depth > maxDepth || n > uint64(len(t.b)-t.i) {
		t.fail()
	}
	for ; n > 0 && t.err == nil; n-- {
		t.skipElement(kv >> 4)
		t.skipElement(kv & 0x0f)
	}
	t.depth--
}
