package artifacts

import (
	"bytes"
	"context"
	"io"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

// lines is text taken out of a document, each line of which knows the line of
// the file that it stands in. What Open of its stream gives has the method
//
//	Origin(line int) run.Ref
//
// for whoever numbers the lines: the n-th line of the stream is not the n-th of
// the file where messages were put into the order of time or had several lines.
type lines struct {
	text bytes.Buffer
	at   []run.Ref
}

// pad adds empty lines until the next one has the number that it has in the
// file, so that even who only counts is right as long as messages are short.
func (b *lines) pad(line int) {
	for len(b.at)+1 < line {
		b.at = append(b.at, run.Ref{})
		b.text.WriteByte('\n')
	}
}

// add splits a message at \n.
func (b *lines) add(at run.Ref, prefix, message string) {
	for l := range strings.SplitSeq(strings.TrimRight(message, "\r\n"), "\n") {
		b.at = append(b.at, at)
		b.text.WriteString(prefix + l + "\n")
		prefix = ""
	}
}

// keepLast drops all but the last n lines; 0 drops none.
func (b *lines) keepLast(n int) {
	if n <= 0 || len(b.at) <= n {
		return
	}
	rest := b.text.Bytes()
	for range len(b.at) - n {
		rest = rest[bytes.IndexByte(rest, '\n')+1:]
	}
	b.text, b.at = *bytes.NewBuffer(bytes.Clone(rest)), b.at[len(b.at)-n:]
}

// stream is the text as a log of that name.
func (b *lines) stream(e entry, rank int) run.Stream {
	text, at := b.text.Bytes(), b.at
	return run.Stream{
		Name: e.name, Rank: rank, Size: int64(len(text)), Kind: "log", ModTime: e.mod,
		Open: func(ctx context.Context) (io.ReadCloser, error) {
			return &lineReader{bytes.NewReader(text), e.name, at}, ctx.Err()
		},
	}
}

type lineReader struct {
	*bytes.Reader
	name string
	at   []run.Ref
}

// Origin is where a line of the stream, counted from 1, stands in the file.
func (r *lineReader) Origin(line int) run.Ref {
	for ; line > 0 && line <= len(r.at); line++ { // what fills up belongs to what follows
		if r.at[line-1].Line > 0 {
			return r.at[line-1]
		}
	}
	return run.Ref{File: r.name}
}

// Close implements io.Closer.
func (r *lineReader) Close() error { return nil }
