// Package tail turns foreign bytes into lines: compressed or UTF-16 text is
// decoded to UTF-8, the last lines of a large file are found from its end, and
// a growing file is cut at whole lines only. Offsets count in the decoded
// stream. Invalid UTF-8 and NUL bytes pass through unchanged.
package tail

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
)

const (
	sniffLen  = 4096
	maxWindow = 128 << 20 // zstd --long=27, the most that zstd writes unasked

	// What unpacks to more than maxUnpacked bytes and to more than maxRatio times
	// its size is no log: logs shrink to a hundredth at the very best.
	maxUnpacked = 2 << 30
	maxRatio    = 500
)

// ErrBomb says that a compressed stream was not read to its end.
var ErrBomb = fmt.Errorf("it unpacks to more than %d times its size, as no log does", maxRatio)

// Reader decodes one stream. It is read by one goroutine.
type Reader struct {
	name  string
	src   *bufio.Reader
	in    counter // what src read
	out   int64   // what was given
	dec   io.Reader
	close []func()
	err   error
}

// NewReader decodes r; the name appears in errors only. The encoding is found
// at the first Read. A compressed stream that ends too early yields what could
// be read and then an error that wraps io.ErrUnexpectedEOF.
func NewReader(r io.Reader, name string) *Reader {
	d := &Reader{name: name, in: counter{r: r}}
	d.src = bufio.NewReaderSize(&d.in, 64<<10)
	return d
}

// counter counts what is read.
type counter struct {
	r io.Reader
	n int64
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// Read implements io.Reader.
func (r *Reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	if r.dec == nil {
		if r.dec, r.err = r.decoder(r.src, 0); r.err != nil {
			r.err = r.wrap(r.err)
			return 0, r.err
		}
	}
	n, err := r.dec.Read(p)
	if r.out += int64(n); err == nil && r.out > maxUnpacked && r.out/maxRatio > r.in.n {
		err = ErrBomb
	}
	if err != nil {
		r.err = r.wrap(err)
		if n > 0 {
			return n, nil
		}
	}
	return n, r.err
}

// Close frees the decoder. It does not close what was given to NewReader.
func (r *Reader) Close() {
	for _, f := range r.close {
		f()
	}
	r.close = nil
	if r.err == nil {
		r.err = fmt.Errorf("tail: read %s: %w", r.name, io.ErrClosedPipe)
	}
}

func (r *Reader) wrap(err error) error {
	if errors.Is(err, io.EOF) {
		return io.EOF
	}
	return fmt.Errorf("tail: read %s: %w", r.name, err)
}

// decoder stacks one decoder for each layer: at most one compression, then text.
func (r *Reader) decoder(br *bufio.Reader, depth int) (io.Reader, error) {
	head, err := br.Peek(sniffLen)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, err
	}
	enc := Detect(head)
	if depth > 0 && (enc == Gzip || enc == Zstd) {
		enc = Plain
	}
	switch enc {
	case Gzip:
		return r.inner(newGunzip(br), depth)
	case Zstd:
		z, err := decoders.take(br)
		if err != nil {
			return nil, err
		}
		r.close = append(r.close, func() { decoders.give(z) })
		return r.inner(z, depth)
	case UTF8BOM:
		_, err := br.Discard(3)
		return br, err
	case UTF16LE, UTF16BE:
		return newUTF16(br, enc == UTF16BE), nil
	}
	return br, nil
}

// inner looks at what a decompressor gives; a stream that is cut within its
// first bytes still yields them, and then its error.
func (r *Reader) inner(src io.Reader, depth int) (io.Reader, error) {
	br := bufio.NewReaderSize(src, 64<<10)
	return r.decoder(br, depth+1)
}

// gunzip reads all members of a gzip stream; what follows the last member and
// is not gzip (padding) is ignored, as gunzip does.
type gunzip struct {
	src *bufio.Reader
	z   *gzip.Reader
}

func newGunzip(src *bufio.Reader) *gunzip { return &gunzip{src: src} }

// Read implements io.Reader.
func (g *gunzip) Read(p []byte) (int, error) {
	for {
		if err := g.member(); err != nil {
			return 0, err
		}
		n, err := g.z.Read(p)
		if n > 0 || len(p) == 0 {
			return n, nil
		}
		if !errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return 0, err
		}
		head, _ := g.src.Peek(2)
		if Detect(head) != Gzip {
			return 0, io.EOF
		}
		if err := g.z.Reset(g.src); err != nil {
			return 0, cut(err)
		}
		g.z.Multistream(false)
	}
}

func (g *gunzip) member() error {
	if g.z != nil {
		return nil
	}
	z, err := gzip.NewReader(g.src)
	if err != nil {
		return cut(err)
	}
	z.Multistream(false)
	g.z = z
	return nil
}

// cut makes an end within a header an unexpected one.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
