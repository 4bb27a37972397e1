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
	sources "github.com/trainmedic/trainmedic/internal/source/all"
	"github.com/trainmedic/trainmedic/tools"
)

func main() {
	debug.SetGCPercent(30) // little memory beside a run that may need all of it
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
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
	return cli.Main(ctx, args, s, cli.Deps{
		Doctor: doctor, Sources: kinds, Version: version(),
		Serve: func(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
			return tools.New(tools.Config{Doctor: doctor, Sources: kinds, Version: version()}).ServeStdio(ctx, stdin, stdout, stderr)
		},
	})
}

func version() string {
	if b, ok := debug.ReadBuildInfo(); ok && b.Main.Version != "" {
		return b.Main.Version
	}
	return "(devel)"
}
