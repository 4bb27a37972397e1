package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/trainmedic/trainmedic/internal/door"
)

// Network says where and for whom a server is there. At least one address has to
// be given.
type Network struct {
	HTTP    string       // address of the streamable HTTP transport (/mcp), "" for none
	SSE     string       // address of the older HTTP with SSE (/sse), "" for none; may be the same
	Token   string       // that clients have to show; "" on loopback only, else one is made
	Tokens  []door.Token // further ones, each of a client
	Hosts   []string     // names of this server beside localhost
	Origins []string     // web pages that may call
	Page    Page         // what a browser is shown, nil for nothing
	Say     func(line string)
}

// Page is what a browser is shown at / and /watches; Ask asks it for the token.
type Page interface {
	http.Handler
	Ask(w http.ResponseWriter, wrong bool)
}

// beat keeps a stream on which nothing happens from being closed on the way.
const beat = 25 * time.Second

// Listen binds the addresses. What it returns serves until ctx ends; Say has
// then told where, and the token if it was made here.
func (s *Service) Listen(ctx context.Context, n Network) (serve func() error, err error) {
	var all []*site
	defer func() {
		if err != nil {
			for _, at := range all {
				_ = at.listener.Close() // nothing was served there
			}
		}
	}()
	for _, addr := range []string{n.HTTP, n.SSE} {
		if addr == "" || addr == n.HTTP && len(all) > 0 {
			continue
		}
		l, local, err := door.Listen(ctx, addr)
		if err != nil {
			return nil, err
		}
		all = append(all, &site{listener: l, local: local, http: addr == n.HTTP, sse: addr == n.SSE})
	}
	for _, at := range all {
		if !at.local && n.Token == "" && len(n.Tokens) == 0 {
			n.Token = door.NewToken()
			n.Say("token, shown this once (Authorization: Bearer TOKEN): " + n.Token)
		}
	}
	for _, at := range all {
		at.open(s, n)
	}
	return func() error { return s.serve(ctx, all) }, nil
}

// site is one address with what is served there.
type site struct {
	listener  net.Listener
	local     bool
	http, sse bool

	server     *http.Server
	silent     sync.Map    // of net.Conn on which no request has come yet
	streamable *streamable // nil when it is not served here
	events     *events     // nil when it is not served here
}

func (at *site) open(s *Service, n Network) {
	mux := http.NewServeMux()
	base := "http://" + at.listener.Addr().String()
	guard := func() *door.Door {
		return &door.Door{Hosts: n.Hosts, Origins: n.Origins, Token: n.Token, Tokens: n.Tokens, Local: at.local, Books: &door.Sessions{}, Limits: &door.Limits{}}
	}
	if at.http {
		d := guard()
		at.streamable = newStreamable(s, n, d.Books)
		mux.Handle("/mcp", d.Wrap(at.streamable, ofStreamable))
		n.Say("streamable HTTP on " + base + "/mcp")
	}
	if at.sse {
		d := guard()
		at.events = newEvents(s, n, d.Books)
		h := d.Wrap(at.events, ofEvents)
		mux.Handle("/sse", h)
		mux.Handle("/message", h)
		n.Say("SSE on " + base + "/sse")
	}
	if n.Page != nil {
		h := guard().Visits(n.Page, n.Page.Ask)
		for _, path := range []string{"/{$}", "/watches", "/login"} { // any other is not found: clients look for much
			mux.Handle(path, h)
		}
		n.Say("the watches in a browser on " + base + "/")
	}
	if !at.local {
		n.Say("reachable from other machines, unencrypted: put a proxy with TLS in front")
	}
	at.server = door.Server(mux)
	at.server.ConnState = func(c net.Conn, state http.ConnState) {
		if state == http.StateNew {
			at.silent.Store(c, nil)
		} else {
			at.silent.Delete(c)
		}
	}
	at.server.RegisterOnShutdown(func() {
		at.silent.Range(func(c, _ any) bool {
			_ = c.(net.Conn).Close() // nobody has asked anything on it
			return true
		})
	})
	at.server.ErrorLog = log.New(said(n.Say), "", 0)
}

// serve answers until ctx ends, and then until the calls have their answers.
func (s *Service) serve(ctx context.Context, all []*site) error {
	failed := make(chan error, len(all))
	for _, at := range all {
		go func() { failed <- at.server.Serve(at.listener) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
		err = fmt.Errorf("transport: serve: %w", err)
	}
	s.end()
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	done := make(chan error, len(all))
	for _, at := range all {
		go func() { done <- at.close(last) }()
	}
	for range all {
		err = errors.Join(err, <-done)
	}
	return err
}

// close lets calls end with their answers; streams that only listen end at once,
// and so do silent connections.
func (at *site) close(ctx context.Context) error {
	if at.events != nil {
		go at.events.close(ctx)
	}
	if at.streamable != nil {
		_ = at.streamable.Shutdown(ctx) // it serves under our server, and only closes its streams
	}
	if err := at.server.Shutdown(ctx); err != nil {
		return at.server.Close() // a call that will not end is cut off
	}
	return nil
}

// logger tells what goes wrong in a transport, without the names of sessions.
func logger(n Network) *slog.Logger {
	return slog.New(slog.NewTextHandler(said(n.Say), &slog.HandlerOptions{Level: slog.LevelError, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return slog.String(a.Key, door.Names.ReplaceAllString(a.Value.String(), "[session]"))
	}}))
}

// said is a writer of lines.
type said func(line string)

func (f said) Write(b []byte) (int, error) {
	f(strings.TrimRight(string(b), "\n"))
	return len(b), nil
}

var _ io.Writer = said(nil)
