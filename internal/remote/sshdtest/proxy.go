package sshdtest

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// Proxy stands between a client and a server: it counts what travels, and can
// stop forwarding as a network does that drops everything.
type Proxy struct {
	Port     int
	To, From atomic.Int64 // bytes to the server and from it
	Turns    atomic.Int64 // how often the client spoke after the server had

	to     string
	frozen atomic.Bool
	mu     sync.Mutex
	open   []net.Conn
	last   atomic.Int32
}

// NewProxy starts a proxy before a server.
func NewProxy(t testing.TB, s *Server) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Port: l.Addr().(*net.TCPAddr).Port, to: s.Addr()}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	t.Cleanup(func() { l.Close(); p.Cut() })
	return p
}

// Server is the server as it is reached through the proxy.
func (p *Proxy) Server(s *Server) *Server { return &Server{Port: p.Port, Dir: s.Dir, t: s.t} }

// Freeze stops or resumes forwarding.
func (p *Proxy) Freeze(on bool) { p.frozen.Store(on) }

// Cut closes all connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.open {
		c.Close()
	}
	p.open = nil
}

func (p *Proxy) serve(c net.Conn) {
	s, err := net.Dial("tcp", p.to)
	if err != nil {
		c.Close()
		return
	}
	p.mu.Lock()
	p.open = append(p.open, c, s)
	p.mu.Unlock()
	go p.pass(c, s, &p.From, 1)
	p.pass(s, c, &p.To, 2)
}

func (p *Proxy) pass(to io.WriteCloser, from io.Reader, count *atomic.Int64, side int32) {
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if p.frozen.Load() {
			continue // it is lost
		}
		count.Add(int64(n))
		if p.last.Swap(side) == 1 && side == 2 {
			p.Turns.Add(1)
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
