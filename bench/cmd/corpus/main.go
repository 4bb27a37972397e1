// Command corpus measures how right trainmedic is: over folders of failed runs
// whose truth is known, and over logs of healthy runs, where every cause that
// it names is a false alarm. It prints Markdown.
//
//	corpus [flags] score CASES
//	corpus [flags] healthy LOGS
//	corpus [flags] accuracy DOCS    both, for what lies in the tree, into DOCS/ACCURACY.md
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := corpus(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "corpus: %v\n", err)
		os.Exit(1)
	}
}

func corpus(ctx context.Context, args []string, out io.Writer) error {
	f := flag.NewFlagSet("corpus", flag.ContinueOnError)
	program := f.String("program", "./trainmedic", "the program to measure")
	jobs := f.Int("jobs", runtime.NumCPU(), "runs at a time")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() != 2 || *jobs < 1 {
		return errors.New("usage: corpus [-program PROGRAM] [-jobs N] score CASES | healthy LOGS | accuracy DOCS")
	}
	d, err := newDoctor(*program)
	if err != nil {
		return err
	}
	switch f.Arg(0) {
	case "score":
		cases, err := loadCases(f.Arg(1))
		if err != nil {
			return err
		}
		each(*jobs, cases, func(c *trial) { c.run(ctx, d) })
		fmt.Fprint(out, scoreTable(cases))
		return ctx.Err()
	case "healthy":
		logs, err := loadLogs(f.Arg(1))
		if err != nil {
			return err
		}
		each(*jobs, logs, func(l *healthy) { l.answer, l.err = d.log(ctx, l.path) })
		fmt.Fprint(out, healthyTable(logs))
		return ctx.Err()
	case "accuracy":
		return accuracy(ctx, d, *jobs, f.Arg(1))
	}
	return fmt.Errorf("%q is neither score, healthy nor accuracy", f.Arg(0))
}

// each does something with all of a slice, some at a time.
func each[T any](jobs int, all []T, do func(*T)) {
	next, done := make(chan *T), make(chan struct{})
	for range jobs {
		go func() {
			for t := range next {
				do(t)
			}
			done <- struct{}{}
		}()
	}
	for i := range all {
		next <- &all[i]
	}
	close(next)
	for range jobs {
		<-done
	}
}
