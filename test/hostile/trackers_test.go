//go:build unix

package hostile

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

func checksum(b []byte) uint32 {
	c := crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}

func head(n uint64) []byte {
	b := binary.LittleEndian.AppendUint64(nil, n)
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}

// overlapping is an event file of n bytes in which a record of 15 MB begins every
// 12 bytes; none of them is whole.
func overlapping(n int) string { return strings.Repeat(string(head(15<<20)), n/12) }

// tags is an event file of n scalars, each of its own tag.
func tags(n int) string {
	var b []byte
	for i := range n {
		v := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), fmt.Sprintf("train/loss%d/loss", i))
		v = protowire.AppendFixed32(protowire.AppendTag(v, 2, protowire.Fixed32Type), 0x3f800000)
		s := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), v)
		e := protowire.AppendVarint(protowire.AppendTag(nil, 2, protowire.VarintType), uint64(i))
		e = protowire.AppendBytes(protowire.AppendTag(e, 5, protowire.BytesType), s)
		b = append(append(b, head(uint64(len(e)))...), e...)
		b = binary.LittleEndian.AppendUint32(b, checksum(e))
	}
	return string(b)
}
