package wandblog

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// console is the stream of the output between two records.
func (l Log) console(from, to, offset, size int64, line int) run.Stream {
	return run.Stream{
		Name: l.Name + ".log", Rank: run.NoRank, Kind: "log", Size: size, Offset: offset, FirstLine: line,
		Open: func(ctx context.Context) (io.ReadCloser, error) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			f, err := l.Open()
			if err != nil {
				return nil, err
			}
			c, err := open(f, from, to)
			if err != nil {
				return nil, errors.Join(err, f.Close())
			}
			return &output{ctx: ctx, f: f, c: c}, nil
		},
	}
}

// output reads the console output out of the records.
type output struct {
	ctx  context.Context
	f    source.Opened // nil when it is closed
	c    *chunks
	line []byte // what is left of the record at hand
}

// Read implements io.Reader.
func (o *output) Read(p []byte) (int, error) {
	for len(o.line) == 0 {
		if err := o.ctx.Err(); err != nil {
			return 0, err
		}
		if o.f == nil {
			return 0, os.ErrClosed
		}
		b, err := o.c.next()
		if err != nil {
			return 0, err
		}
		for len(b) > 0 && len(o.line) == 0 {
			f, rest, ok := one(b)
			if !ok {
				break
			}
			if b = rest; f.num == recOutputRaw || f.num == recOutput {
				o.line = outputLine(f.b)
			}
		}
	}
	n := copy(p, o.line)
	o.line = o.line[n:]
	return n, nil
}

// Close implements io.Closer; a second Close does nothing.
func (o *output) Close() error {
	if o.f == nil {
		return nil
	}
	f := o.f
	o.f = nil
	return f.Close()
}
