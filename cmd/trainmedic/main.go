// Command trainmedic diagnoses training runs, for people and for agents.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/trainmedic/trainmedic/internal/cli"
	"github.com/trainmedic/trainmedic/internal/diagnose"
	failures "github.com/trainmedic/trainmedic/internal/failure/all"
	"github.com/trainmedic/trainmedic/internal/gate/effect"
	"github.com/trainmedic/trainmedic/internal/monitor"
	sources "github.com/trainmedic/trainmedic/internal/source/all"
)

func main() {
	debug.SetGCPercent(30) // little memory beside a run that may need all of it
	limitMemory()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)                            // a second interrupt ends the program at once
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // a reader that has gone (| head) is an error of the write: what is not for it is done all the same
	os.Exit(run(ctx, os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

// run builds the book of failures and the list of sources and hands them to a face.
func run(ctx context.Context, args []string, s cli.Streams) int {
	book, err := failures.Book()
	if err != nil { // a mistake in our own catalogue; its tests find it first
		fmt.Fprintf(s.Err, "trainmedic: %v\n", err)
		return 1
	}
	kinds := sources.Kinds()
	doctor := &diagnose.Doctor{Book: book, Sources: kinds, Now: time.Now}
	watches := &monitor.Monitor{Book: book, Sources: kinds, Conclude: doctor.Conclude}
	return cli.Main(ctx, args, s, cli.Deps{
		Doctor: doctor, Monitor: watches, Sources: kinds, Version: version(), Start: sources.Start, Notify: effect.Notify, Examine: sources.Doctor,
		Act: func(ctx context.Context, a cli.Actions, note io.Writer) (cli.Gate, io.Closer, error) {
			g, err := openGate(ctx, a, watches, bounds{}, note)
			return g, g, err
		},
		Serve: func(ctx context.Context, o cli.ServeOptions, s cli.Streams) error { return serve(ctx, doctor, o, s) },
	})
}

func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}
