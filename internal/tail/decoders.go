package tail

import (
	"io"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

// shelf has a zstd decoder that nobody uses, for the next one who wants one: the
// window of each takes up to 128 MB, and a look at a folder opens every file twice.
type shelf struct {
	mu   sync.Mutex
	idle *zstd.Decoder
}

var decoders shelf

// idleFor is how long a decoder waits before its memory is let go.
const idleFor = 10 * time.Second

func (s *shelf) take(r io.Reader) (*zstd.Decoder, error) {
	s.mu.Lock()
	z := s.idle
	s.idle = nil
	s.mu.Unlock()
	if z != nil {
		return z, z.Reset(r)
	}
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
}

func (s *shelf) give(z *zstd.Decoder) {
	if z.Reset(nil) != nil {
		return
	}
	s.mu.Lock()
	s.idle = z
	s.mu.Unlock()
	time.AfterFunc(idleFor, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.idle == z {
			s.idle = nil
		}
	})
}
