package tail

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	block = 64 << 10
	// maxBack bounds how far LastLines reads back for n lines: a file that has
	// hardly any \n (progress bars are written with \r) is not read to its start.
	maxBack = 64 << 20
)

// LastLines finds the offset at which the last n lines of a file of that size
// begin. Lines end with \n; a last line without one counts. Of a file with
// hardly any \n it gives at most the last 64 MB, from a \r or \n on.
func LastLines(ra io.ReaderAt, size int64, n int) (int64, error) {
	if n <= 0 {
		return size, nil
	}
	buf := make([]byte, block)
	need := n
	for end := size; end > 0; {
		b, start, err := before(ra, buf, end)
		if err != nil {
			return 0, err
		}
		if end == size && b[len(b)-1] == '\n' {
			b = b[:len(b)-1]
		}
		for i := bytes.LastIndexByte(b, '\n'); i >= 0; i = bytes.LastIndexByte(b[:i], '\n') {
			if need--; need == 0 {
				return start + int64(i) + 1, nil
			}
		}
		if size-start >= maxBack && start > 0 {
			return afterBreak(buf[:end-start], start), nil
		}
		end = start
	}
	return 0, nil
}

func afterBreak(b []byte, start int64) int64 {
	if i := bytes.IndexAny(b, "\r\n"); i >= 0 {
		return start + int64(i) + 1
	}
	return start
}

// before reads the block that ends at end.
func before(ra io.ReaderAt, buf []byte, end int64) ([]byte, int64, error) {
	start := max(0, end-int64(len(buf)))
	b := buf[:end-start]
	if n, err := ra.ReadAt(b, start); n < len(b) {
		if err == nil || errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // it shrank while we read
		}
		return nil, 0, fmt.Errorf("tail: read at %d: %w", start, err)
	}
	return b, start, nil
}

// Whole is the offset after the last \n or \r in [from, size): up to there a
// growing file consists of whole lines. It is from when there is none.
func Whole(ra io.ReaderAt, from, size int64) (int64, error) {
	buf := make([]byte, max(0, min(block, size-from)))
	for end := size; end > from; {
		b, start, err := before(ra, buf[:min(int64(len(buf)), end-from)], end)
		if err != nil {
			return 0, err
		}
		if i := bytes.LastIndexAny(b, "\r\n"); i >= 0 {
			return start + int64(i) + 1, nil
		}
		end = start
	}
	return from, nil
}

// CountLines counts the \n in [0, end).
func CountLines(ra io.ReaderAt, end int64) (int, error) {
	buf := make([]byte, max(1, min(1<<20, end)))
	r := io.NewSectionReader(ra, 0, end)
	total := 0
	for {
		n, err := r.Read(buf)
		total += bytes.Count(buf[:n], []byte{'\n'})
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, fmt.Errorf("tail: count lines: %w", err)
		}
	}
}
