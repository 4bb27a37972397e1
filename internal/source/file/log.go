package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/tail"
)

// Log is one file of text. Open MUST NOT block on a FIFO or device; it is called
// once for each look and once for each time that the stream is opened.
type Log struct {
	Name string // of the stream, relative to the target
	Open func() (*os.File, error)
	Last int // only the last lines, 0 for all
}

// View is what one look at a Log found: a stream if there is anything new, a gap
// if something could not be seen, and where the next look goes on.
type View struct {
	Stream *run.Stream
	Gap    *run.Gap
	Next   string
}

// Into adds what was found to an observation; key is the stream's place in the
// cursor.
func (v View) Into(obs *run.Observation, key string) {
	if v.Stream != nil {
		obs.Streams = append(obs.Streams, *v.Stream)
	}
	if v.Gap != nil {
		obs.Gaps = append(obs.Gaps, *v.Gap)
	}
	if v.Next != "" {
		obs.Next[key] = v.Next
	}
}

// Look looks at the file once. prev is the Next of the last look, "" at first.
func (l Log) Look(prev string) (View, error) {
	f, err := l.Open()
	if err != nil {
		return View{}, Reason("file", l.Name, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return View{}, Reason("file", l.Name, err)
	}
	if !info.Mode().IsRegular() {
		return View{}, fmt.Errorf("file: %s is a %s, not a log: %w", l.Name, kindOf(info.Mode()), source.ErrNoEvidence)
	}
	head := make([]byte, 4096)
	n, err := f.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return View{}, Reason("file", l.Name, err)
	}
	head = head[:n]
	st := run.Stream{Name: l.Name, Rank: RankOf(l.Name), ModTime: info.ModTime(), Kind: "log"}
	if tail.Detect(head) != tail.Plain {
		if Archive(l.Name, head) != "" {
			return View{Gap: Opaque(l.Name, head)}, nil
		}
		return l.encoded(f, st, info, prev)
	}
	if isTar(head) || tail.IsBinary(head) && !holeThenText(f, head, info.Size()) {
		return View{Gap: Opaque(l.Name, head)}, nil // again at each look, until it is text
	}
	return l.plain(f, st, info, prev)
}

// holeThenText tells a log that was truncated under a writer without O_APPEND:
// it begins with a hole, which reads as NUL bytes, and ends with text.
func holeThenText(f *os.File, head []byte, size int64) bool {
	if len(bytes.Trim(head, "\x00")) > 0 || size <= int64(len(head)) {
		return false
	}
	end := make([]byte, min(4096, size))
	if _, err := f.ReadAt(end, size-int64(len(end))); err != nil {
		return false
	}
	return !tail.IsBinary(end)
}

// plain gives the new bytes as they are, readable in segments.
func (l Log) plain(f *os.File, st run.Stream, info fs.FileInfo, prev string) (View, error) {
	from, to, next, err := tail.ParseCursor(prev).Look(f, info.Size(), Identity(info))
	if err != nil {
		return View{}, Reason("file", l.Name, err)
	}
	if prev == "" && l.Last > 0 {
		if from, err = tail.LastLines(f, to, l.Last); err != nil {
			return View{}, Reason("file", l.Name, err)
		}
		before, err := tail.CountLines(f, from)
		if err != nil {
			return View{}, Reason("file", l.Name, err)
		}
		st.FirstLine = before + 1
	}
	v := View{Next: next.String()}
	if from == to && prev != "" {
		return v, nil
	}
	if info.Size() == 0 {
		v.Gap = &run.Gap{What: l.Name, Why: "is empty", Ask: "the output of the run: was it redirected elsewhere, or buffered when the run was killed?"}
	}
	st.Offset, st.Size = from, to-from
	st.Open = func(ctx context.Context) (io.ReadCloser, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := l.Open()
		if err != nil {
			return nil, Reason("file", l.Name, err)
		}
		return &body{io.NewSectionReader(f, from, to-from), ctx, f.Close}, nil
	}
	v.Stream = &st
	return v, nil
}

// body is what a stream's Open gives: it ends when the context does. Its parts
// do not move when the file grows.
type body struct {
	io.Reader
	ctx   context.Context
	close func() error // nil when there is nothing to close, or no more
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	return b.Reader.Read(p)
}

// Close implements io.Closer; a second Close does nothing.
func (b *body) Close() error {
	if b.close == nil {
		return nil
	}
	end := b.close
	b.close = nil
	return end()
}
