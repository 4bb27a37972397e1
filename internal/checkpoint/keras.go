package checkpoint

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

var hdf5Magic = []byte("\x89HDF\r\n\x1a\n")

// hdf5 compares the end-of-file address of the superblock with the size.
func hdf5(ra io.ReaderAt, size int64) verdict {
	b := make([]byte, 64)
	n, _ := ra.ReadAt(b, 0)
	if n < 48 || !bytes.HasPrefix(b, hdf5Magic) {
		return torn("has no HDF5 signature")
	}
	at := 0
	switch b[8] { // version of the superblock; 8-byte offsets are what everyone writes
	case 0:
		at = 40
	case 1:
		at = 44
	case 2, 3:
		at = 28
	}
	if at == 0 || (b[8] < 2 && b[13] != 8) || (b[8] >= 2 && b[9] != 8) {
		return unknown("has an HDF5 signature of a version that is not known here")
	}
	end := binary.LittleEndian.Uint64(b[at:])
	if end > uint64(size) {
		return torn(fmt.Sprintf("is cut: %d of %d bytes", size, end))
	}
	return whole("signature and size agree")
}

// keras judges a .keras file: a zip with config.json and model.weights.h5.
func keras(ra io.ReaderAt, size int64) verdict {
	names, err := zipNames(ra, size)
	if errors.Is(err, errDirectory) {
		return unknown("has a zip directory that is too large to be read")
	}
	if err != nil {
		return torn("is cut: its zip directory, which is written last, is missing")
	}
	has := map[string]bool{}
	for _, n := range names {
		has[n] = true
	}
	if !has["config.json"] || !has["model.weights.h5"] {
		return torn("is a zip without config.json and model.weights.h5")
	}
	return whole("its zip directory is there")
}
