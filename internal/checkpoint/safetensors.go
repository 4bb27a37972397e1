package checkpoint

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxHeader is the largest header that the format allows.
const maxHeader = 100_000_000

// safetensors checks that the file is as long as its header says: eight bytes
// of length, the JSON header, and the data up to the largest offset.
func safetensors(ra io.ReaderAt, size int64) verdict {
	var lead [8]byte
	if _, err := ra.ReadAt(lead[:], 0); err != nil {
		return torn("is too short for a safetensors header")
	}
	n := binary.LittleEndian.Uint64(lead[:])
	if n < 2 || n > maxHeader {
		return torn("has no safetensors header")
	}
	if int64(n)+8 > size {
		return torn(fmt.Sprintf("ends within its header: %d of %d bytes", size, n+8))
	}
	end, err := dataEnd(&bounded{r: io.NewSectionReader(ra, 8, int64(n))})
	if errors.Is(err, errMember) {
		return unknown("has an entry in its header that is too large to be read")
	}
	if err != nil {
		return torn("has a damaged safetensors header")
	}
	want := 8 + int64(n) + end
	switch {
	case size < want:
		return torn(fmt.Sprintf("is cut: %d of %d bytes", size, want))
	case size > want:
		return torn(fmt.Sprintf("is longer than its header says: %d instead of %d bytes", size, want))
	}
	return whole("header and size agree")
}

// dataEnd is the largest data offset of a header. It reads token by token, so
// a header of many tensors costs little memory.
func dataEnd(r io.Reader) (int64, error) {
	d := json.NewDecoder(r)
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return 0, fmt.Errorf("checkpoint: safetensors header: no object")
	}
	var end int64
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return 0, err
		}
		if key == "__metadata__" {
			var skip json.RawMessage
			if err := d.Decode(&skip); err != nil {
				return 0, err
			}
			continue
		}
		var t struct {
			Offsets []int64 `json:"data_offsets"`
		}
		if err := d.Decode(&t); err != nil {
			return 0, err
		}
		if len(t.Offsets) != 2 || t.Offsets[0] < 0 || t.Offsets[1] < t.Offsets[0] || t.Offsets[1] > 1<<50 {
			return 0, fmt.Errorf("checkpoint: safetensors header: bad offsets of %v", key)
		}
		end = max(end, t.Offsets[1])
	}
	_, err := d.Token()
	return end, err
}
