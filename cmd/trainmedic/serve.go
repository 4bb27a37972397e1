package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/cli"
	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/door"
	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/page"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/internal/transport"
	"github.com/trainmedic/trainmedic/tools"
)

// serve builds the MCP server and opens it to its clients.
func serve(ctx context.Context, of *diagnose.Doctor, o cli.ServeOptions, s cli.Streams) error {
	doctor := *of
	roots, err := bound(&doctor, o.Roots)
	if err != nil {
		return err
	}
	tokens, err := tokens(o)
	if err != nil {
		return err
	}
	say := func(line string) { fmt.Fprintln(s.Err, "trainmedic serve: "+line) }
	dir, err := stateDir(o.Roots)
	if err != nil {
		say(err.Error()) // watches go on in memory
	}
	watches := &monitor.Monitor{Book: doctor.Book, Sources: doctor.Sources, Conclude: doctor.Conclude}
	cfg := tools.Config{Doctor: &doctor, Sources: doctor.Sources, Version: version(), Roots: roots}
	if o.Actions.Any() {
		host := os.Getppid()
		if o.HTTP != "" || o.SSE != "" {
			host = 0 // the agent is elsewhere: what started this server is a person's shell
		}
		g, err := openGate(ctx, o.Actions, watches, bounds{host, roots}, s.Err)
		switch {
		case errors.Is(err, gate.ErrNotWritten): // runs are looked at all the same
			say("actions are off: " + err.Error())
			cfg.Actions = closed{err}
		case err != nil:
			return err
		default:
			defer g.Close() //nolint:errcheck // what waited is void
			cfg.Actions, cfg.ApprovalPage = g, g.page
		}
	}
	desk := &monitor.Desk{Monitor: watches, Dir: dir}
	defer desk.Close() //nolint:errcheck // it waits for goroutines; the journals are on disk
	if err := desk.Resume(); err != nil {
		say(err.Error()) // the others are served
	}
	cfg.Watches = desk
	observer, err := observe(ctx, o, desk, say)
	if err != nil {
		return err
	}
	if observer != nil {
		cfg.Observe = observer.Call
		defer closeObserver(ctx, observer, say)
	}
	server := tools.New(cfg)
	if o.HTTP == "" && o.SSE == "" {
		return server.ServeStdio(ctx, s.In, s.Out, s.Err)
	}
	token := ""
	if o.Token && len(tokens) == 0 {
		token = door.NewToken()
		say("token, shown this once (Authorization: Bearer TOKEN): " + token)
	}
	if o.Actions.Any() && token == "" && len(tokens) == 0 {
		say("actions: a client of this machine is read-only, since without a token nobody knows which one asks; --token or --token-file makes them known")
	}
	run, err := server.Listen(ctx, transport.Network{HTTP: o.HTTP, SSE: o.SSE, Token: token, Tokens: tokens, Hosts: o.Hosts, Origins: o.Origins, Page: &page.Board{Watches: desk.List}, Say: say})
	if err != nil {
		return err
	}
	return run()
}

func tokens(o cli.ServeOptions) ([]door.Token, error) {
	if o.TokenFile == "" {
		return nil, nil
	}
	return door.ReadTokens(o.TokenFile)
}

// bound leaves the doctor only what the roots allow: paths below a folder, pasted
// texts, and the kinds that were named.
func bound(d *diagnose.Doctor, roots []string) (source.Roots, error) {
	if len(roots) == 0 {
		return nil, nil
	}
	allowed := []string{"file", "artifacts", "traceback"}
	var dirs []string
	for _, r := range roots {
		scheme, rest, ok := strings.Cut(r, ":")
		if ok && rest == "" {
			if !slices.ContainsFunc(d.Sources, func(k *source.Kind) bool { return k.Scheme == scheme }) {
				return nil, fmt.Errorf("--root %s: there is no such kind of target", r)
			}
			allowed = append(allowed, scheme)
		} else {
			dirs = append(dirs, r)
		}
	}
	d.Sources = slices.DeleteFunc(slices.Clone(d.Sources), func(k *source.Kind) bool { return !slices.Contains(allowed, k.Scheme) })
	if len(dirs) == 0 { // no path at all
		d.Sources = slices.DeleteFunc(d.Sources, func(k *source.Kind) bool { return k.Scheme == "file" || k.Scheme == "artifacts" })
		return source.Nowhere, nil
	}
	return source.NewRoots(dirs)
}

// stateDir is where the watches of a server lie. One that may read only some
// folders has a place of its own: it does not go on with the watches of another,
// nor tell of them.
func stateDir(roots []string) (string, error) {
	dir, err := monitor.StateDir()
	if err != nil || len(roots) == 0 {
		return dir, err
	}
	roots = slices.Clone(roots)
	for i, r := range roots {
		if abs, err := filepath.Abs(r); err == nil && !strings.HasSuffix(r, ":") {
			roots[i] = abs
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(slices.Values(roots)), "\n")))
	return filepath.Join(dir, "below-"+hex.EncodeToString(sum[:6])), nil
}
