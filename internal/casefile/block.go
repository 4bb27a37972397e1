package casefile

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"

	"github.com/trainmedic/trainmedic/internal/logformat"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/scan"
)

const (
	blockSize = 128 << 10
	maxLine   = 1 << 20 // a longer line is read in pieces of this size
)

// block is a stretch of whole lines on its way from the reader through a worker
// to the case file.
type block struct {
	stream  *run.Stream // set on the first block of a stream
	origin  origin      // beside it, where the lines stand elsewhere than their number says
	last    bool        // the stream ends here, with err if it broke off
	opened  bool
	err     error
	buf     []byte // cap is blockSize, or maxLine where a line needed it
	b       []byte // the whole lines at the front of buf
	base    int64  // offset of b in the stream
	scanner *scan.Scanner
	done    chan struct{} // receives when a worker is through with it

	hits  []scan.Hit
	recs  []rec
	arena []byte // lines that had to be cleaned
	nums  []float64
}

// pipe reads streams ahead, in order: one goroutine reads and cuts blocks, one
// worker a core takes them apart, and the caller merges them.
type pipe struct {
	f     *File
	free  chan *block
	todo  chan *block
	order chan *block
}

// start begins to read; the caller MUST receive from order until it is closed,
// or cancel ctx and do so.
func (f *File) start(ctx context.Context, streams []run.Stream) *pipe {
	workers := f.workers
	if workers == 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	p := &pipe{f: f, free: make(chan *block, workers+2), todo: make(chan *block, workers+2), order: make(chan *block, workers+2)}
	for range workers + 2 {
		p.free <- &block{done: make(chan struct{}, 1)}
	}
	forms := f.forms // a worker may begin when the reading has ended
	for range workers {
		go func() {
			w := worker{forms: logformat.NewFinder(forms)}
			defer w.forms.Close()
			for b := range p.todo {
				w.take(b)
				b.done <- struct{}{}
			}
		}()
	}
	go func() {
		defer close(p.order)
		defer close(p.todo)
		for i := range streams {
			if ctx.Err() != nil {
				return
			}
			p.stream(ctx, &streams[i])
		}
	}()
	return p
}

func (p *pipe) next() *block {
	b := <-p.free
	b.stream, b.origin, b.last, b.opened, b.err, b.base = nil, nil, false, true, nil, 0
	if b.buf == nil {
		b.buf = p.f.buffer()
	}
	b.b = b.buf[:0]
	return b
}

// buffers are those of pipes that have ended: each look of a watch has one.
var buffers sync.Pool

func (f *File) buffer() []byte {
	if b, ok := buffers.Get().(*[blockSize]byte); ok && f.blockSize == blockSize {
		return b[:]
	}
	return make([]byte, f.blockSize)
}

// release gives the buffers back; every block MUST be free.
func (p *pipe) release() {
	for range cap(p.free) {
		if b := <-p.free; len(b.buf) == blockSize {
			buffers.Put((*[blockSize]byte)(b.buf))
		}
	}
}

func (p *pipe) send(b *block) {
	p.order <- b
	p.todo <- b
}

// stream reads one stream in blocks that end with a line. The last line may
// lack its end.
func (p *pipe) stream(ctx context.Context, in *run.Stream) {
	b := p.next()
	b.stream, b.scanner = in, p.f.matcher.scanner
	r, err := in.Open(ctx)
	if err != nil {
		b.last, b.opened, b.err = true, false, err
		p.send(b)
		return
	}
	defer r.Close()
	b.origin, _ = r.(origin)
	b.base = in.Offset
	t := tuning{base: p.f.matcher.scanner}
	n := 0 // bytes in b.buf
	for {
		if ctx.Err() != nil {
			b.last, b.err = true, ctx.Err()
			p.send(b)
			return
		}
		k, err := io.ReadFull(r, b.buf[n:])
		n += k
		if err != nil {
			b.b, b.last, b.scanner = b.buf[:n], true, t.of(b.buf[:n])
			if !errors.Is(err, io.EOF) && !(errors.Is(err, io.ErrUnexpectedEOF) && isPlainEOF(r, err)) {
				b.err = err
			}
			p.send(b)
			return
		}
		cut := lastLineEnd(b.buf)
		if cut == 0 {
			if len(b.buf) < maxLine {
				b.buf = append(b.buf, make([]byte, maxLine-len(b.buf))...)
				continue
			}
			cut = lastSpace(b.buf)
		}
		b.b, b.scanner = b.buf[:cut], t.of(b.buf[:cut])
		rest, base := b.buf[cut:n], b.base+int64(cut)
		c := p.next()
		if len(c.buf) <= len(rest) {
			c.buf = make([]byte, maxLine)
		}
		n = copy(c.buf, rest)
		c.base = base
		p.send(b)
		b = c
	}
}

// isPlainEOF tells io.ReadFull's own ErrUnexpectedEOF (a short last block) from
// one that the stream itself returned (a compressed file that was cut).
func isPlainEOF(r io.Reader, err error) bool {
	if err != io.ErrUnexpectedEOF { //nolint:errorlint // ReadFull returns it bare
		return false
	}
	var one [1]byte
	_, again := r.Read(one[:])
	return again == io.EOF
}

// lastLineEnd is the offset behind the last \n or \r near the end of b, or 0. A
// \r as the very last byte may be half of \r\n: it stays for the next block.
func lastLineEnd(b []byte) int {
	for i := len(b) - 1; i > 0; i-- {
		if b[i] == '\n' || b[i] == '\r' && i < len(b)-1 {
			return i + 1
		}
	}
	return 0
}

func lastSpace(b []byte) int {
	if i := bytes.LastIndexByte(b, ' '); i > len(b)/2 {
		return i + 1
	}
	return len(b)
}

// tuning fits the scanner to the text of a stream, anew from time to time: the
// sample grows with what was read, for a log changes its subject.
type tuning struct {
	base, now *scan.Scanner
	sample    scan.Sample
	blocks    int
}

const sampleSize = 8 << 10 // of a block

func (t *tuning) of(b []byte) *scan.Scanner {
	if t.now == nil {
		t.now = t.base
	}
	if n := t.blocks; n > 0 { // a short log is not worth it
		if n <= 64 || n%8 == 0 && n <= 4096 {
			at := n * 7919 % max(1, len(b)-sampleSize)
			t.sample.Add(b[at:min(at+sampleSize, len(b))])
		}
		if n&(n-1) == 0 && n <= 4096 { // 1, 2, 4, ...
			t.now = t.base.Tune(&t.sample)
		}
	}
	t.blocks++
	return t.now
}
