package wandblog

import (
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields of a Record that are read; wandb/proto/wandb_internal.proto has them all.
const (
	recHistory     = 2
	recSummary     = 3
	recOutput      = 4
	recConfig      = 5
	recStats       = 7
	recAlert       = 10
	recMetric      = 12
	recOutputRaw   = 13
	recRun         = 17
	recExit        = 18
	recHeader      = 21
	recPreempting  = 23
	recEnvironment = 26
)

// field is one field of a message: its number, and its bytes or its number.
type field struct {
	num protowire.Number
	b   []byte // of a length-delimited field
	n   uint64 // of any other
}

// fields gives the fields of a message in order, until yield says to stop. It
// reports false where the message is damaged; what came before was given.
func fields(b []byte, yield func(f field) bool) bool {
	for len(b) > 0 {
		f, rest, ok := one(b)
		if !ok {
			return false
		}
		if !yield(f) {
			return true
		}
		b = rest
	}
	return true
}

// one is the first field of a message, and what follows it.
func one(b []byte) (f field, rest []byte, ok bool) {
	if len(b) > 1 && b[0] < 0x80 && b[0]&7 == byte(protowire.BytesType) && b[0] > 7 && b[1] < 0x80 && 2+int(b[1]) <= len(b) { // what most are
		return field{num: protowire.Number(b[0] >> 3), b: b[2 : 2+int(b[1])]}, b[2+int(b[1]):], true
	}
	num, kind, n := protowire.ConsumeTag(b)
	if n < 0 {
		return f, nil, false
	}
	f.num, b = num, b[n:]
	switch kind {
	case protowire.BytesType:
		f.b, n = protowire.ConsumeBytes(b)
	case protowire.VarintType:
		f.n, n = protowire.ConsumeVarint(b)
	case protowire.Fixed64Type:
		f.n, n = protowire.ConsumeFixed64(b)
	case protowire.Fixed32Type:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		f.n = uint64(v)
	default:
		n = protowire.ConsumeFieldValue(num, kind, b)
	}
	if n < 0 {
		return f, nil, false
	}
	return f, b[n:], true
}

// item is a key with a value: of the history, the summary, the configuration or
// the system's readings.
type item struct {
	key  []byte // nested keys joined by dots
	json []byte // the value as JSON, or as Python writes it (NaN); nil where typed says it
	// typed is the value where the writer gave it as a protobuf value; its num is 0
	// elsewhere.
	typed field
}

// The ways in which a HistoryItem holds its value.
const (
	itemKey     = 1
	itemNested  = 2
	itemBoolean = 4
	itemInteger = 5
	itemNumber  = 6
	itemText    = 7
	itemJSON    = 8
	itemValue   = 16
)

// readItem reads an item; buf is room for a key that is put together. A key of
// one part is a part of b.
func readItem(b, buf []byte) (it item, ok bool) {
	if it.key, it.json, ok = usual(b); ok {
		return it, true
	}
	for len(b) > 0 {
		f, rest, whole := one(b)
		if !whole {
			return it, false
		}
		b = rest
		switch f.num {
		case itemKey:
			if len(f.b) > 0 {
				it.key = f.b
			}
		case itemNested:
			if it.key == nil {
				it.key = f.b
				break
			}
			buf = append(append(append(buf[:0], it.key...), '.'), f.b...)
			it.key = buf
		case itemBoolean, itemInteger, itemNumber, itemText:
			it.typed = f
		case itemJSON, itemValue:
			it.json = f.b
		}
	}
	return it, true
}

// Tags of the fields that an item most often has.
const (
	tagKey    = itemKey<<3 | byte(protowire.BytesType)
	tagNested = itemNested<<3 | byte(protowire.BytesType)
	tagValue  = "\x82\x01" // itemValue
)

// usual reads an item of the one form that nearly all have: a key, then a value as
// JSON, both shorter than 128 bytes. A history has millions.
func usual(b []byte) (key, json []byte, ok bool) {
	if len(b) < 5 || b[0] != tagKey && b[0] != tagNested || b[1] >= 0x80 || 2+int(b[1])+3 > len(b) {
		return nil, nil, false
	}
	key, json = b[2:2+int(b[1])], b[2+int(b[1]):]
	if string(json[:2]) != tagValue || json[2] >= 0x80 || 3+int(json[2]) != len(json) {
		return nil, nil, false
	}
	return key, json[3:], true
}

// stamp reads a Timestamp.
func stamp(b []byte) time.Time {
	var sec, nsec int64
	fields(b, func(f field) bool {
		switch f.num {
		case 1:
			sec = int64(f.n)
		case 2:
			nsec = int64(f.n)
		}
		return true
	})
	if sec == 0 {
		return time.Time{}
	}
	return time.Unix(sec, nsec).UTC()
}

// texts are the length-delimited fields of a message, as texts by their number;
// of a repeated one the last.
func texts(b []byte) map[protowire.Number]string {
	out := map[protowire.Number]string{}
	fields(b, func(f field) bool {
		if f.b != nil {
			out[f.num] = string(f.b)
		}
		return true
	})
	return out
}
