package checkpoint

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"strings"
)

// legacyMagic opens the files of torch before 1.6: a pickled long.
var legacyMagic = []byte{0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19}

// torch judges a file that torch.save wrote: a zip whose directory is written
// last. That every byte is as it was saved is not checked.
func torch(ra io.ReaderAt, size int64) verdict {
	head := make([]byte, 64)
	n, _ := ra.ReadAt(head, 0)
	head = head[:n]
	switch {
	case bytes.HasPrefix(head, legacyMagic):
		return unknown("is in torch's old format, which does not tell its length")
	case len(head) > 1 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5:
		return unknown("is a plain pickle, which is not read")
	case allZero(head):
		return torn("begins with zeros: its blocks were never written")
	case !bytes.HasPrefix(head, []byte("PK\x03\x04")):
		return unknown("is in no format that is known here")
	}
	names, err := zipNames(ra, size)
	if errors.Is(err, errDirectory) {
		return unknown("has a zip directory that is too large to be read")
	}
	if err != nil {
		return torn("is cut: its zip directory, which is written last, is missing")
	}
	for _, name := range names {
		if name == "data.pkl" || strings.HasSuffix(name, "/data.pkl") || strings.HasSuffix(name, "/constants.pkl") {
			return whole("its zip directory is there")
		}
	}
	return torn("is a zip without data.pkl")
}

// maxDirectory is how much of a zip's directory is read; every tensor is one entry
// of some hundred bytes, and a large model has some ten thousand.
const maxDirectory = 16 << 20

var errDirectory = errors.New("checkpoint: the directory of the zip is too large to be read")

// zipNames lists a zip.
func zipNames(ra io.ReaderAt, size int64) ([]string, error) {
	z, err := zip.NewReader(&budget{ra, maxDirectory}, size)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, f := range z.File {
		names = append(names, f.Name)
	}
	return names, nil
}

// budget is an io.ReaderAt of which only so many bytes may be read.
type budget struct {
	io.ReaderAt
	left int
}

// ReadAt implements io.ReaderAt.
func (b *budget) ReadAt(p []byte, off int64) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errDirectory
	}
	return b.ReaderAt.ReadAt(p, off)
}

func allZero(b []byte) bool { return len(b) > 0 && len(bytes.Trim(b, "\x00")) == 0 }
