package door

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"strings"

	"golang.org/x/net/netutil"
)

// maxConns bounds the connections of one listener, those that say nothing
// included.
const maxConns = 2048

// Listen binds an address; without a host it is the loopback, never all of them.
// local says that only this machine can reach it.
func Listen(ctx context.Context, addr string) (l net.Listener, local bool, err error) {
	if !strings.Contains(addr, ":") {
		addr = ":" + addr
	}
	name, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, false, fmt.Errorf("door: address %q: want HOST:PORT or a port: %w", addr, err)
	}
	if name == "" {
		name = "127.0.0.1"
	}
	var c net.ListenConfig
	if l, err = c.Listen(ctx, "tcp", net.JoinHostPort(name, port)); err != nil {
		return nil, false, fmt.Errorf("door: %w", err)
	}
	at, _ := l.Addr().(*net.TCPAddr)
	return netutil.LimitListener(l, maxConns), at != nil && at.IP.IsLoopback(), nil
}

// Server is an HTTP server that a slow client cannot hold. A request's context
// comes from ctx, which is not the end of the server: see tools.
func Server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: headerTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader}
}

// named reports whether a Host header is one of ours: localhost, a name that was
// allowed, this machine's own name, or an address. A page cannot make its own
// name look like an address; on loopback the address has to be loopback too.
func (d *Door) named(h string) bool {
	name := strings.Trim(host(h), "[]")
	if ip, err := netip.ParseAddr(name); err == nil {
		return !d.Local || ip.IsLoopback() || isOne(d.Hosts, name) || isOne(d.Hosts, h)
	}
	if strings.EqualFold(name, "localhost") || isOne(d.Hosts, name) || isOne(d.Hosts, h) {
		return true
	}
	own, err := os.Hostname()
	return err == nil && !d.Local && strings.EqualFold(own, name)
}

// host is an address without its port.
func host(addr string) string {
	if h, _, err := net.SplitHostPort(addr); err == nil {
		return h
	}
	return addr
}

func isOne(list []string, s string) bool {
	return slices.ContainsFunc(list, func(l string) bool { return strings.EqualFold(l, s) })
}
