package person

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
)

const (
	socketDir   = "s"
	askDeadline = 10 * time.Second
	maxAnswer   = 4 << 20
)

// Servers are the sockets of the servers that run for this user.
func Servers(dir string) []string {
	all, _ := filepath.Glob(filepath.Join(dir, socketDir, "*.sock")) // the pattern is ours
	return all
}

// Plans asks a server what waits and what was decided, newest first.
func Plans(ctx context.Context, socket string) ([]gate.Record, error) {
	var out []gate.Record
	return out, ask(ctx, socket, http.MethodGet, "/plans", nil, &out)
}

// Decide tells a server a decision.
func Decide(ctx context.Context, socket string, d gate.Decision) (gate.Record, error) {
	var out gate.Record
	return out, ask(ctx, socket, http.MethodPost, "/decide", d, &out)
}

// ErrNoServer says that nobody listens on a socket.
var ErrNoServer = errors.New("no server answers there")

func ask(ctx context.Context, socket, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, askDeadline)
	defer cancel()
	if to, err := os.Readlink(socket); err == nil {
		socket = to
	}
	body, err := json.Marshal(in)
	if err != nil {
		return fmt.Errorf("person: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, method, "http://trainmedic"+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("person: %w", err)
	}
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
		if err != nil {
			return nil, errors.Join(ErrNoServer, err)
		}
		return c, nil
	}}
	defer t.CloseIdleConnections()
	res, err := (&http.Client{Transport: t}).Do(req)
	if err != nil {
		return fmt.Errorf("person: %s: %w", socket, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("person: %s: %w", socket, err)
	}
	if res.StatusCode != http.StatusOK {
		var no refused
		if json.Unmarshal(b, &no) != nil || no.Error == "" {
			no.Error = res.Status
		}
		return errors.New(no.Error)
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("person: %s: %w", socket, err)
	}
	return nil
}

// All gathers the plans of all servers of this user, newest first, and which
// socket each is decided on. Sockets that nobody listens on are taken away.
func All(ctx context.Context, dir string, sockets ...string) (plans []gate.Record, at map[string]string, err error) {
	own := len(sockets) == 0
	if own {
		sockets = Servers(dir)
	}
	at = map[string]string{}
	var errs []error
	for _, s := range sockets {
		some, err := Plans(ctx, s)
		switch {
		case own && errors.Is(err, ErrNoServer):
			os.Remove(s) //nolint:errcheck // its server is gone; it is tried again the next time
			continue
		case err != nil:
			errs = append(errs, err)
			continue
		}
		for _, p := range some {
			at[p.ID] = s
		}
		plans = append(plans, some...)
	}
	slices.SortFunc(plans, func(a, b gate.Record) int { return b.Created.Compare(a.Created) })
	return plans, at, errors.Join(errs...)
}
