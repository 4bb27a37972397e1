package file

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/tail"
)

// maxMemory is how much of standard input is kept in memory; more goes to a
// temporary file, which has no name by the time it is used.
const maxMemory = 32 << 20

// maxPiped bounds what is taken of a stream that may have no end.
const maxPiped = 16 << 30

var errEndless = fmt.Errorf("more than %d GB came and it has not ended", maxPiped>>30)

// Traceback is text that the user pasted: an error without a log.
func Traceback() *source.Kind {
	return &source.Kind{
		Scheme: "traceback", Type: "traceback", Flag: "traceback", Example: "--traceback < error.txt",
		Doc: "a traceback or error text, read from standard input",
		Open: func(_ context.Context, _ string, opt source.Options) (source.Source, error) {
			if opt.Stdin == nil {
				return nil, fmt.Errorf("traceback: there is no standard input to read it from: %w", source.ErrBadTarget)
			}
			return &logs{last: opt.Last, stdin: newInput(opt.Stdin, "traceback.txt")}, nil
		},
	}
}

// input is a stream that can be read from outside only once.
type input struct {
	from io.Reader
	name string
	most int64 // bytes that are taken of it
	text spool

	result chan error // of the reading, once begun
	err    error      // of what ended it before the end of the input
}

func newInput(r io.Reader, name string) *input { return &input{from: r, name: name, most: maxPiped} }

func (in *input) observe(ctx context.Context, since run.Cursor, last int) (run.Observation, error) {
	obs := run.Observation{At: time.Now(), Next: run.Cursor{in.name: "read"}}
	if err := in.readAll(ctx); err != nil {
		return obs, err
	}
	if since[in.name] == "read" {
		return obs, nil
	}
	if in.err != nil && in.text.size == 0 {
		return obs, fmt.Errorf("file: %s: %w", in.name, in.err)
	}
	if in.err != nil {
		obs.Gaps = append(obs.Gaps, run.Gap{What: "the rest of " + in.name, Why: in.err.Error(), Ask: "an undamaged copy of the log"})
	}
	st := run.Stream{Name: in.name, Rank: run.NoRank, Kind: "log", ModTime: obs.At, Size: in.text.size}
	head := make([]byte, min(4096, in.text.size))
	if _, err := in.text.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return obs, fmt.Errorf("file: %s: %w", in.name, err)
	}
	if tail.IsBinary(head) || isTar(head) {
		return obs, unseen([]run.Gap{*Opaque(piped, head)})
	}
	if in.text.size == 0 {
		obs.Gaps = append(obs.Gaps, run.Gap{What: in.name, Why: "is empty", Ask: "the output of the run, piped in or as a file"})
	}
	if last > 0 {
		var err error
		if st.Offset, err = tail.LastLines(&in.text, in.text.size, last); err != nil {
			return obs, err
		}
		n, err := tail.CountLines(&in.text, st.Offset)
		if err != nil {
			return obs, err
		}
		st.FirstLine, st.Size = n+1, in.text.size-st.Offset
	}
	st.Open = func(ctx context.Context) (io.ReadCloser, error) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return &body{io.NewSectionReader(&in.text, st.Offset, st.Size), ctx, nil}, nil
	}
	obs.Streams = append(obs.Streams, st)
	return obs, nil
}

// readAll reads to the end, decoded, or until ctx ends. A pipe cannot be
// interrupted, so the reading goes on and the next look waits for it again.
func (in *input) readAll(ctx context.Context) error {
	if in.result == nil {
		in.result = make(chan error, 1)
		go func() {
			d := tail.NewReader(in.from, in.name)
			defer d.Close()
			n, err := io.Copy(&in.text, io.LimitReader(d, in.most))
			if err == nil && n == in.most {
				err = errEndless
			}
			in.result <- err
		}()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case in.err = <-in.result:
		in.result <- in.err // for the next look
		return nil
	}
}

// Close implements source.Source.
func (in *input) Close() error { return in.text.Close() }

// spool keeps bytes for reading again: in memory, then in a file.
type spool struct {
	mu   sync.Mutex
	mem  bytes.Buffer
	f    *os.File
	size int64

	closed bool
}

// Write implements io.Writer.
func (s *spool) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, os.ErrClosed
	}
	if s.f == nil && s.mem.Len()+len(p) > maxMemory {
		f, err := os.CreateTemp("", "trainmedic-*")
		if err != nil {
			return 0, err
		}
		_ = os.Remove(f.Name()) // where a file in use cannot be removed it stays
		if _, err := f.Write(s.mem.Bytes()); err != nil {
			f.Close()
			return 0, err
		}
		s.f, s.mem = f, bytes.Buffer{}
	}
	var n int
	var err error
	if s.f != nil {
		n, err = s.f.Write(p)
	} else {
		n, err = s.mem.Write(p)
	}
	s.size += int64(n)
	return n, err
}

// ReadAt implements io.ReaderAt.
func (s *spool) ReadAt(p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f != nil {
		return s.f.ReadAt(p, off)
	}
	if off >= int64(s.mem.Len()) {
		return 0, io.EOF
	}
	n := copy(p, s.mem.Bytes()[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close implements io.Closer.
func (s *spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.f == nil {
		return nil
	}
	f := s.f
	s.f = nil
	return f.Close()
}
