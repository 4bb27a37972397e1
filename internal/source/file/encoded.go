package file

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/tail"
)

// encoded gives a compressed or UTF-16 file decoded, once: where its growth
// begins in the decoded stream cannot be told without reading it all again.
func (l Log) encoded(ctx context.Context, f Opened, st run.Stream, info fs.FileInfo, prev string) (View, error) {
	now := state{cur: tail.Cursor{Ident: Identity(info), Size: info.Size(), Line: info.Size(), Given: info.Size()}}
	v := View{Next: now.String()}
	if s := parseState(prev); prev != "" && s.cur.Ident == now.cur.Ident {
		if now.told = s.told || s.cur != now.cur; now.told && !s.told {
			v.gap("what was added to "+l.Name, "it is compressed or UTF-16 and was read once", "the uncompressed UTF-8 log, or a fresh check of it")
		}
		v.Next = now.String()
		return v, nil
	}
	d := tail.NewReader(io.NewSectionReader(f, 0, info.Size()), l.Name)
	defer d.Close()
	head := make([]byte, 4096)
	n, err := io.ReadFull(d, head)
	if tail.IsBinary(head[:n]) || isTar(head[:n]) {
		return View{Gaps: []run.Gap{*Opaque(l.Name, head[:n])}, Next: v.Next}, nil
	}
	if err != nil && !errors.Is(err, io.EOF) && n == 0 {
		v.gap(l.Name, "cannot be unpacked: "+err.Error(), "an undamaged copy of "+run.Name(l.Name))
		return v, nil
	}
	st.Open = func(ctx context.Context) (io.ReadCloser, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := l.Open()
		if err != nil {
			return nil, Reason("file", l.Name, err)
		}
		d := tail.NewReader(io.NewSectionReader(f, 0, info.Size()), l.Name)
		r := &body{d, ctx, func() error { d.Close(); return f.Close() }}
		if _, err := io.CopyN(io.Discard, r, st.Offset); err != nil {
			return nil, errors.Join(err, r.Close())
		}
		return r, nil
	}
	if l.Last > 0 {
		d := tail.NewReader(io.NewSectionReader(patient{f, ctx}, 0, info.Size()), l.Name)
		defer d.Close()
		if st.Offset, st.FirstLine = lastStart(d, l.Last); ctx.Err() != nil {
			return View{}, ctx.Err()
		}
	}
	v.Streams = append(v.Streams, st)
	return v, nil
}

// lastStart reads a stream through and says where its last n lines begin, and
// the number of the first of them. A stream that is cut ends where it is cut.
func lastStart(r io.Reader, n int) (int64, int) {
	starts := []int64{0} // of the last n lines
	line, at := 1, int64(0)
	buf := make([]byte, 256<<10)
	pending := false // a \n was seen; a line begins only when something follows
	for {
		k, err := r.Read(buf)
		for b := buf[:k]; len(b) > 0; {
			if pending {
				starts, line, pending = append(starts, at), line+1, false
				if len(starts) > n {
					starts = starts[1:]
				}
			}
			i := bytes.IndexByte(b, '\n')
			if i < 0 {
				at += int64(len(b))
				break
			}
			at, b, pending = at+int64(i)+1, b[i+1:], true
		}
		if err != nil {
			return starts[0], line - len(starts) + 1
		}
	}
}
