package main

import (
	"context"
	"time"

	"github.com/trainmedic/trainmedic/internal/cli"
	"github.com/trainmedic/trainmedic/internal/door"
	"github.com/trainmedic/trainmedic/internal/monitor"
	observed "github.com/trainmedic/trainmedic/internal/observe"
)

// observe tells of the server itself what the flags and the environment ask for;
// nil when they ask for nothing.
func observe(ctx context.Context, o cli.ServeOptions, desk *monitor.Desk, say func(string)) (*observed.Observer, error) {
	traced := observed.Traced()
	if o.Metrics == "" && !traced {
		return nil, nil
	}
	v := &observed.Observer{Watches: func() map[string]int {
		out := map[string]int{}
		for _, g := range desk.List() {
			out[string(g.State)]++
		}
		return out
	}}
	if traced {
		if err := v.Trace(ctx, version(), say); err != nil {
			return nil, err
		}
	}
	if o.Metrics == "" {
		return v, nil
	}
	l, _, err := door.Listen(ctx, o.Metrics)
	if err != nil {
		return nil, err
	}
	v.Measure()
	say("metrics on http://" + l.Addr().String() + "/metrics")
	go func() {
		if err := v.Serve(ctx, l); err != nil {
			say(err.Error())
		}
	}()
	return v, nil
}

// closeObserver sends what is left, for a bounded time.
func closeObserver(ctx context.Context, v *observed.Observer, say func(string)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	if err := v.Close(ctx); err != nil {
		say(err.Error())
	}
}
