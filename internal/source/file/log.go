package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/tail"
)

// Log is one file of text. Open MUST NOT block on a FIFO or device; it is called
// once for each look and once for each time that the stream is opened.
type Log struct {
	Name   string // of the stream, relative to the target
	Open   func() (Opened, error)
	Last   int     // only the last lines, 0 for all
	Max    int64   // bytes that a look gives at most, 0 for all
	Ended  bool    // nobody writes it any more: a last line without its end is given at once
	Folder *Folder // where rotated parts of the log lie; nil when they cannot be had
}

// View is what one look at a Log found: streams if there is anything new (two or
// more of the log's name when it was rotated), gaps if something could not be
// seen, what became of the file, and where the next look goes on.
type View struct {
	Streams []run.Stream
	Gaps    []run.Gap
	Facts   []run.Fact
	Next    string
	// Took has the files of the same folder that were read as older parts of the
	// log, by their base name, each with the Next that it has when it is followed
	// by itself.
	Took map[string]string
	More bool
}

// Into adds what was found to an observation; key is the log's place in the
// cursor.
func (v View) Into(obs *run.Observation, key string) {
	obs.Streams = append(obs.Streams, v.Streams...)
	obs.Gaps = append(obs.Gaps, v.Gaps...)
	obs.Facts = append(obs.Facts, v.Facts...)
	obs.More = obs.More || v.More
	if v.Next != "" {
		obs.Next[key] = v.Next
	}
}

func (v *View) gap(what, why, ask string) {
	v.Gaps = append(v.Gaps, run.Gap{What: what, Why: why, Ask: ask})
}

func (v *View) event(name, what string) {
	v.Facts = append(v.Facts, run.Fact{Key: run.FactLog, Value: what, From: run.Ref{File: name}})
}

// Look looks at the file once. prev is the Next of the last look, "" at first. A
// file that was seen before and is gone is no error.
func (l Log) Look(ctx context.Context, prev string) (View, error) {
	f, err := l.Open()
	if errors.Is(err, fs.ErrNotExist) && Followed(prev) {
		return l.absent(prev)
	}
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
	st := l.stream(info)
	if tail.Detect(head) != tail.Plain {
		if Archive(l.Name, head) != "" {
			return View{Gaps: []run.Gap{*Opaque(l.Name, head)}}, nil
		}
		return l.encoded(ctx, f, st, info, prev)
	}
	if isTar(head) || tail.IsBinary(head) && !holeThenText(f, head, info.Size()) {
		return View{Gaps: []run.Gap{*Opaque(l.Name, head)}, Next: prev}, nil // again at each look, until it is text
	}
	return l.plain(ctx, f, st, info, prev)
}

func (l Log) stream(info fs.FileInfo) run.Stream {
	return run.Stream{Name: l.Name, Rank: RankOf(l.Name), ModTime: info.ModTime(), Kind: "log"}
}

// holeThenText tells a log that was truncated under a writer without O_APPEND:
// it begins with a hole, which reads as NUL bytes, and ends with text.
func holeThenText(f Opened, head []byte, size int64) bool {
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
func (l Log) plain(ctx context.Context, f Opened, st run.Stream, info fs.FileInfo, prev string) (View, error) {
	s, v := parseState(prev), View{Took: map[string]string{}}
	if err := l.arrive(f, info, &s, &v); err != nil {
		return View{}, Reason("file", l.Name, err)
	}
	if v.More { // of an older part, which comes first
		v.Next = s.String()
		return v, nil
	}
	if l.Ended && prev != "" {
		s.cur.Size = info.Size() // it stands still
	}
	if x, ok := f.(Excerpted); ok && prev == "" && l.Last == 0 {
		if e, err := x.Excerpt(); e != nil || err != nil {
			return l.excerpt(f, st, info, e, err)
		}
	}
	if prev == "" && l.Last > 0 && info.Size() > 0 {
		c, err := l.lastLines(ctx, f, info)
		if err != nil {
			return View{}, Reason("file", l.Name, err)
		}
		s.cur = c
	}
	p, err := s.cur.Look(f, info.Size(), Identity(info), l.Max)
	if err != nil {
		return View{}, Reason("file", l.Name, err)
	}
	s.cur = p.Next
	v.Next, v.More = s.String(), p.More
	if info.Size() == 0 && prev == "" {
		v.gap(l.Name, "is empty", "the output of the run: was it redirected elsewhere, or buffered when the run was killed?")
	}
	if prev == "" || p.From < p.To {
		v.Streams = append(v.Streams, l.piece(st, p, l.Open))
	}
	return v, nil
}

// lastLines is the cursor before the last lines.
func (l Log) lastLines(ctx context.Context, f Opened, info fs.FileInfo) (tail.Cursor, error) {
	in := patient{f, ctx}
	from, err := tail.LastLines(in, info.Size(), l.Last)
	if err != nil {
		return tail.Cursor{}, err
	}
	var before int
	if c, ok := f.(interface{ Lines(end int64) (int, error) }); ok {
		before, err = c.Lines(from)
	} else {
		before, err = tail.CountLines(in, from)
	}
	return tail.Cursor{Ident: Identity(info), Size: info.Size(), Line: from, Given: from, Number: before + 1}, err
}

// excerpt gives what was taken out of a large file; what it gains from now on is
// followed.
func (l Log) excerpt(f Opened, st run.Stream, info fs.FileInfo, e *Excerpt, err error) (View, error) {
	if err != nil {
		return View{}, Reason("file", l.Name, err)
	}
	cur, err := tail.At(f, e.End, Identity(info), e.Lines+1)
	if err != nil {
		return View{}, Reason("file", l.Name, err)
	}
	st.Open = e.Open
	return View{Streams: []run.Stream{st}, Gaps: []run.Gap{e.Gap}, Next: state{cur: cur}.String()}, nil
}

// piece is a stream of some bytes of a file.
func (l Log) piece(st run.Stream, p tail.Piece, open func() (Opened, error)) run.Stream {
	st.Offset, st.Size, st.FirstLine = p.From, p.To-p.From, p.Number
	st.Open = func(ctx context.Context) (io.ReadCloser, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := l.again(open, p.Next.Ident)
		if err != nil {
			return nil, Reason("file", l.Name, err)
		}
		stop := context.AfterFunc(ctx, func() { f.Close() }) // what waits for another machine is let go
		return &body{io.NewSectionReader(f, p.From, p.To-p.From), ctx, func() error {
			if !stop() {
				return nil
			}
			return f.Close()
		}}, nil
	}
	return st
}

// again opens the file that a look saw: where it lay, or where a rotation has
// put it since.
func (l Log) again(open func() (Opened, error), ident string) (Opened, error) {
	f, err := open()
	if err == nil {
		info, err := f.Stat()
		if err == nil && Identity(info) == ident {
			return f, nil
		}
		f.Close()
	}
	if p := l.withIdent(ident); p != nil {
		return p.Opened, nil
	}
	if err == nil {
		err = fs.ErrNotExist
	}
	return nil, err
}

// patient reads until ctx ends.
type patient struct {
	io.ReaderAt
	ctx context.Context
}

// ReadAt implements io.ReaderAt.
func (p patient) ReadAt(b []byte, off int64) (int, error) {
	if err := p.ctx.Err(); err != nil {
		return 0, err
	}
	return p.ReaderAt.ReadAt(b, off)
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
