package checkpoint

import (
	"archive/zip"
	"bytes"
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

// maxEntries bounds how much of a zip's directory is read; every tensor is one
// entry, a large model has some ten thousand.
const maxEntries = 2_000_000

// zipNames lists a zip; the directory is bounded by the size of the file.
func zipNames(ra io.ReaderAt, size int64) ([]string, error) {
	z, err := zip.NewReader(ra, size)
	if err != nil {
		return nil, err
	}
	var names []string
	for i, f := range z.File {
		if i == maxEntries {
			break
		}
		names = append(names, f.Name)
	}
	return names, nil
}

func allZero(b []byte) bool { return len(b) > 0 && len(bytes.Trim(b, "\x00")) == 0 }
