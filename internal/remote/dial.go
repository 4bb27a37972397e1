package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/trainmedic/trainmedic/internal/source"
)

// Bounds of a connection.
const (
	maxHops   = 8
	keepAlive = 30 * time.Second // also what keeps a NAT from forgetting an idle watch
	keepGrace = 15 * time.Second
)

// line is a connection to a host, on which shells are opened.
type line interface {
	// open starts a shell that reads commands from its standard input.
	open(ctx context.Context) (*session, error)
	close()
}

// session is a running shell, or the program that stands for it.
type session struct {
	in       io.WriteCloser
	out, err io.Reader
	close    func()
}

// dial connects by our own client. What it returns wraps a sentinel of source;
// errAuth is also in it where no key was taken.
func (c Client) dial(ctx context.Context, s settings, depth int) (*native, error) {
	if depth > maxHops {
		return nil, fmt.Errorf("ssh: more than %d hops lead to %s: correct ProxyJump: %w", maxHops, s.alias, source.ErrBadTarget)
	}
	n := &native{done: make(chan struct{})}
	conn, err := c.wire(ctx, s, depth, n)
	if err != nil {
		n.close()
		return nil, err
	}
	keys, err := s.hostKeys(c.AcceptNew)
	if err != nil {
		conn.Close()
		n.close()
		return nil, err
	}
	ring := s.keyring()
	defer func() {
		if ring.agent != nil {
			ring.agent.Close()
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, s.connectTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { conn.Close() }) // a server that says nothing
	defer stop()
	sc, channels, requests, err := ssh.NewClientConn(conn, s.where(), &ssh.ClientConfig{
		User: s.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(ring.signers...)},
		HostKeyCallback: func(host string, addr net.Addr, key ssh.PublicKey) error {
			if n.key == "" { // it is asked again when keys are made anew
				n.key = ssh.FingerprintSHA256(key)
			}
			return keys.verify(host, addr, key)
		},
		HostKeyAlgorithms: keys.algorithmsFor(),
	})
	if err != nil {
		conn.Close()
		n.close()
		return nil, s.why(ctx, err, ring)
	}
	n.client = ssh.NewClient(sc, channels, requests)
	go n.keep()
	return n, nil
}

// wire is the connection below: of TCP, or through the hops before the host.
func (c Client) wire(ctx context.Context, s settings, depth int, n *native) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.connectTimeout)
	defer cancel()
	if len(s.jump) == 0 {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.where())
		if err != nil {
			return nil, fmt.Errorf("ssh: dial %s: %w: %w", s.alias, err, source.ErrUnreachable)
		}
		return conn, nil
	}
	last := s.jump[len(s.jump)-1]
	hop, err := c.settings(last)
	if err != nil {
		return nil, err
	}
	if hop.system != "" {
		return nil, fmt.Errorf("ssh: the hop %s needs the system's ssh (%s): %w", last, hop.system, errSystem)
	}
	if len(s.jump) > 1 {
		hop.jump = s.jump[:len(s.jump)-1]
	}
	via, err := c.dial(ctx, hop, depth+1)
	if err != nil {
		return nil, fmt.Errorf("ssh: through %s: %w", last, err)
	}
	n.via = via
	conn, err := via.client.DialContext(ctx, "tcp", s.where())
	if err != nil {
		return nil, fmt.Errorf("ssh: dial %s through %s: %w: %w", s.alias, last, err, source.ErrUnreachable)
	}
	return conn, nil
}

var (
	errAuth   = errors.New("no key was accepted")
	errSystem = errors.New("the system's ssh is needed")
)

// why says in words why a handshake failed.
func (s *settings) why(ctx context.Context, err error, ring *keyring) error {
	var r *refused
	switch {
	case errors.As(err, &r):
		return fmt.Errorf("ssh: %s: %w", r.why, source.ErrDenied)
	case ctx.Err() != nil:
		return fmt.Errorf("ssh: %s does not finish the handshake: %w: %w", s.alias, ctx.Err(), source.ErrUnreachable)
	case strings.Contains(err.Error(), "Too many authentication failures"):
		return fmt.Errorf("ssh: %s@%s was offered %d keys, which is too many for it; name the right one in ~/.ssh/config (IdentityFile, with IdentitiesOnly yes): %w: %w",
			s.User, s.alias, len(ring.signers), errAuth, source.ErrDenied)
	case strings.Contains(err.Error(), "unable to authenticate"):
		why := fmt.Sprintf("%s@%s took none of %d keys", s.User, s.alias, len(ring.signers))
		if len(ring.missing) > 0 {
			why += "; " + strings.Join(ring.missing, "; ")
		}
		if ring.system != "" || s.mechanisms {
			return fmt.Errorf("ssh: %s; try: ssh %s true: %w: %w: %w", why, s.asked(), errAuth, errSystem, source.ErrDenied)
		}
		return fmt.Errorf("ssh: %s; try: ssh %s true: %w: %w", why, s.asked(), errAuth, source.ErrDenied)
	}
	return fmt.Errorf("ssh: connect %s: %w: %w", s.alias, err, source.ErrUnreachable)
}

// asked is the host as a person names it to ssh.
func (s *settings) asked() string { return Address{User: s.User, Host: s.alias}.String() }

// native is a connection of our own client.
type native struct {
	client *ssh.Client
	via    *native // the hop before, which ends with this
	key    string  // the fingerprint of the host's key
	done   chan struct{}
	once   sync.Once
}

func (n *native) close() {
	n.once.Do(func() {
		close(n.done)
		if n.client != nil {
			n.client.Close()
		}
		if n.via != nil {
			n.via.close()
		}
	})
}

// keep asks the server now and then whether it is there, until the connection
// ends; one that does not answer is closed.
func (n *native) keep() {
	t := time.NewTicker(keepAlive)
	defer t.Stop()
	for {
		select {
		case <-n.done:
			return
		case <-t.C:
		}
		late := time.AfterFunc(keepGrace, n.close)
		_, _, err := n.client.SendRequest("keepalive@openssh.com", true, nil)
		late.Stop()
		if err != nil {
			n.close()
			return
		}
	}
}

func (n *native) open(ctx context.Context) (*session, error) {
	stop := context.AfterFunc(ctx, n.close)
	defer stop()
	s, err := n.client.NewSession()
	if err != nil {
		return nil, err
	}
	in, err := s.StdinPipe()
	if err == nil {
		var out, complaints io.Reader
		if out, err = s.StdoutPipe(); err == nil {
			if complaints, err = s.StderrPipe(); err == nil {
				if err = s.Start(shellCommand); err == nil {
					return &session{in, out, complaints, func() { s.Close() }}, nil
				}
			}
		}
	}
	s.Close()
	return nil, err
}
