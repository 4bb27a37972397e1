package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"sync"

	"github.com/trainmedic/trainmedic/internal/cli"
	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/effect"
	"github.com/trainmedic/trainmedic/internal/gate/person"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/source"
	sources "github.com/trainmedic/trainmedic/internal/source/all"
)

// opened is an open gate with the ways that people decide on.
type opened struct {
	*gate.Gate
	page string // the address of the approval page, "" when there is none
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// Close implements io.Closer.
func (o *opened) Close() error {
	o.stop()
	o.wg.Wait()
	return o.Gate.Close()
}

// bounds are what a gate may not pass: host is the process that runs the agent, 0
// when none is known; roots bound the local files.
type bounds struct {
	host  int
	roots source.Roots
}

// openGate opens the gate for the watches, and what people decide on.
func openGate(ctx context.Context, a cli.Actions, watches *monitor.Monitor, b bounds, note io.Writer) (*opened, error) {
	p := gate.Policy{On: a.Allow, Elicit: a.Elicit}
	if a.Policy != "" {
		if err := p.ReadPolicy(a.Policy); err != nil {
			return nil, err
		}
	}
	dir, err := gate.StateDir()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", gate.ErrNotWritten, err)
	}
	effects := &effect.Effects{Sources: watches.Sources, Roots: b.roots, Dir: filepath.Dir(dir), Start: sources.Start}
	if err := effects.Recall(); err != nil {
		return nil, err
	}
	g, decider, err := gate.Open(dir, p, effects)
	if err != nil {
		return nil, err
	}
	for _, r := range g.Recovered() {
		fmt.Fprintf(note, "trainmedic: %s %s: %s\n", r.Action, r.ID, r.Outcome)
	}
	watches.Remember = func(ctx context.Context, s monitor.Seen) error { return effects.Remember(ctx, effect.Seen(s)) }
	watches.Settle = g.Settle
	ctx, stop := context.WithCancel(ctx)
	o := &opened{Gate: g, stop: stop}
	socket := &person.Socket{Decider: decider, Host: b.host}
	l, err := socket.Listen(dir, a.Socket)
	if err != nil && a.Socket == "" {
		err = fmt.Errorf("%w: %w", gate.ErrNotWritten, err)
	}
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	o.serve(note, func() error { return socket.Serve(ctx, l) })
	if a.Page == "" {
		return o, nil
	}
	web, err := person.ListenLoopback(a.Page)
	if err != nil {
		return nil, errors.Join(err, o.Close())
	}
	page, err := person.NewPage(decider, dir, web.Addr().String(), a.Hosts)
	if err != nil {
		return nil, errors.Join(err, web.Close(), o.Close())
	}
	o.page = address(web)
	fmt.Fprintf(note, "trainmedic: the approval page is %s\n", o.page)
	o.serve(note, func() error { return page.Serve(ctx, web) })
	return o, nil
}

func address(l net.Listener) string { return "http://" + l.Addr().String() + "/" }

// serve runs until the gate is closed, and says why it ended earlier.
func (o *opened) serve(note io.Writer, run func() error) {
	o.wg.Go(func() {
		if err := run(); err != nil {
			fmt.Fprintf(note, "trainmedic: %v\n", err)
		}
	})
}

// closed is a gate that could not be opened: it refuses everything, and says why.
type closed struct{ why error }

func (c closed) refusal() error {
	return gate.Refusal{Kind: "not_written", Why: "nothing is done, because it could not be written down: " + c.why.Error()}
}

// Propose implements tools.Actions.
func (c closed) Propose(_ context.Context, p gate.Proposal) (gate.Record, gate.Ruling, error) {
	return gate.Record{Action: p.Action}, gate.Refuse, c.refusal()
}

// Execute implements tools.Actions.
func (c closed) Execute(context.Context, string, string, *gate.Proposal) (gate.Record, gate.Outcome, error) {
	return gate.Record{}, gate.Outcome{}, c.refusal()
}

// Await implements tools.Actions.
func (c closed) Await(context.Context, string, string) (gate.Record, error) {
	return gate.Record{}, c.refusal()
}

// Dialog implements tools.Actions.
func (closed) Dialog(*gate.Record) bool { return false }

// InDialog implements tools.Actions.
func (c closed) InDialog(string, string, bool, string) error { return c.refusal() }
