// Package person is how people decide on actions that wait: a socket for the
// command line, which knows by the kernel who is at its other end, and a page with
// a passphrase. Nothing of it can be reached through the protocol of the agents.
package person

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/source/process"
)

// Peer is who is at the other end of a socket, as the kernel says it.
type Peer struct{ UID, PID int }

// Socket serves decisions of the users who may decide.
type Socket struct {
	Decider *gate.Decider
	// Host is the process that runs the agent, 0 when it is not known: what was
	// started by it is not taken for a person. Process 1 says nothing: it has started
	// everything.
	Host int

	path   string
	shared bool
	peer   func(net.Conn) (Peer, error) // who is there; the kernel's word when nil
}

const (
	maxRequest  = 8 << 10
	maxPath     = 100 // bytes of a socket's path; the kernel takes 107
	readTimeout = 10 * time.Second
)

type peerKey struct{}

// Listen makes the socket: below dir, where trainmedic approve finds it, or at
// path, which other users may reach.
func (s *Socket) Listen(dir, path string) (net.Listener, error) {
	s.path, s.shared = path, path != ""
	if path == "" {
		if err := os.MkdirAll(filepath.Join(dir, socketDir), 0o700); err != nil {
			return nil, fmt.Errorf("person: socket: %w", err)
		}
		s.path = filepath.Join(dir, socketDir, strconv.Itoa(os.Getpid())+".sock")
		if len(s.path) > maxPath { // a link to a short one
			short, err := os.MkdirTemp("", "trainmedic-")
			if err != nil {
				return nil, fmt.Errorf("person: socket: %w", err)
			}
			os.Remove(s.path) //nolint:errcheck // it is not there, or the link fails
			if err := os.Symlink(filepath.Join(short, "s"), s.path); err != nil {
				return nil, fmt.Errorf("person: socket: %w", err)
			}
			s.path = filepath.Join(short, "s")
		}
	}
	if err := os.Remove(s.path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("person: socket: %w", err)
	}
	l, err := net.Listen("unix", s.path)
	if err != nil {
		return nil, fmt.Errorf("person: socket: %w", err)
	}
	mode := os.FileMode(0o600)
	if s.shared {
		mode = 0o666 // who may decide is asked of the kernel, at each connection
	}
	if err := os.Chmod(s.path, mode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// Serve answers until ctx ends.
func (s *Socket) Serve(ctx context.Context, l net.Listener) error {
	if s.peer == nil {
		s.peer = peerOf
	}
	srv := &http.Server{
		Handler: s.handler(), ReadTimeout: readTimeout, WriteTimeout: readTimeout, MaxHeaderBytes: maxRequest,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			p, err := s.peer(c)
			if err != nil {
				return ctx // nobody: every request is refused
			}
			return context.WithValue(ctx, peerKey{}, p)
		},
	}
	stop := context.AfterFunc(ctx, func() { srv.Close() }) //nolint:errcheck // the process ends
	defer stop()
	if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("person: socket: %w", err)
	}
	return nil
}

func (s *Socket) handler() http.Handler {
	m := http.NewServeMux()
	m.HandleFunc("GET /plans", func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, s.Decider.List()) })
	m.HandleFunc("POST /decide", func(w http.ResponseWriter, r *http.Request) {
		var d gate.Decision
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&d); err != nil {
			answer(w, http.StatusBadRequest, refused{"this is no decision"})
			return
		}
		p, _ := r.Context().Value(peerKey{}).(Peer) // it is there, or the request was refused
		d.By = fmt.Sprintf("%s (UID %d, PID %d) by trainmedic on the socket", nameOf(p.UID), p.UID, p.PID)
		if d.Yes && s.Host > 1 && process.Above(p.PID)[s.Host] {
			answer(w, http.StatusForbidden, refused{"this was started by the program that runs the agent: approve it in a terminal of your own"})
			return
		}
		rec, err := s.Decider.Decide(d)
		if err != nil {
			answer(w, http.StatusConflict, refused{err.Error()})
			return
		}
		answer(w, http.StatusOK, rec)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p, known := r.Context().Value(peerKey{}).(Peer)
		if !known || !s.may(p.UID) {
			answer(w, http.StatusForbidden, refused{fmt.Sprintf("user %d may not decide here; the policy's approvers may", p.UID)})
			return
		}
		m.ServeHTTP(w, r)
	})
}

// may reports whether a user may decide: those that the policy names, else the
// server's own.
func (s *Socket) may(uid int) bool {
	if a := s.Decider.Approvers(); len(a) > 0 {
		return slices.Contains(a, uid)
	}
	return uid == os.Getuid()
}

type refused struct {
	Error string `json:"error"`
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the client has gone
}

func nameOf(uid int) string {
	if u, err := user.LookupId(strconv.Itoa(uid)); err == nil {
		return u.Username
	}
	return "a user"
}
