package wandblog_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
)

// writer writes a transaction log as the client does.
type writer struct{ bytes.Buffer }

const block = 32 << 10

// record appends one record, in chunks that cross no block.
func (w *writer) record(b []byte) {
	if w.Len() == 0 {
		w.WriteString(":W&B\xe1\xbe\x00")
	}
	for first := true; first || len(b) > 0; first = false {
		left := block - w.Len()%block
		if left < 7 {
			w.Write(make([]byte, left))
			left = block
		}
		n := min(len(b), left-7)
		kind := byte(3)
		switch done := n == len(b); {
		case first && done:
			kind = 1
		case first:
			kind = 2
		case done:
			kind = 4
		}
		head := make([]byte, 7)
		binary.LittleEndian.PutUint32(head, crc32.ChecksumIEEE(append([]byte{kind}, b[:n]...)))
		binary.LittleEndian.PutUint16(head[4:], uint16(n))
		head[6] = kind
		w.Write(head)
		w.Write(b[:n])
		b = b[n:]
		if len(b) == 0 {
			return
		}
	}
}

// message appends a field that is a message or a text.
func message(b []byte, num protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), v)
}

// row appends a row of the history; its values are JSON.
func (w *writer) row(step int64, values map[string]string) {
	var row []byte
	for _, k := range slices.Sorted(maps.Keys(values)) {
		item := message(nil, 2, []byte(k))
		row = message(row, 1, message(item, 16, []byte(values[k])))
	}
	num := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), uint64(step))
	w.record(message(nil, 2, message(row, 2, num)))
}

// output appends a piece of console output.
func (w *writer) output(text string) { w.record(message(nil, 13, message(nil, 3, []byte(text)))) }

// exit appends the exit record.
func (w *writer) exit(code uint64) {
	w.record(message(nil, 18, protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), code)))
}
