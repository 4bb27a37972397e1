// Command bench measures trainmedic against its peers on generated logs and
// writes bench/RESULTS.md and bench/results.txt. It runs in the module's root.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := bench(ctx); err != nil {
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		os.Exit(1)
	}
}

func bench(ctx context.Context) error {
	set, err := fromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(set.scratch(), 0o755); err != nil {
		return err
	}
	k := &kit{settings: set}
	if err := k.find(ctx); err != nil {
		return err
	}
	res := results{Machine: describe(ctx, k), Settings: set}
	for _, p := range plans {
		if !set.wants(p.name) {
			continue
		}
		t, err := p.measure(ctx, k)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		res.Tables = append(res.Tables, t)
	}
	if set.wants("micro") {
		res.Micro = k.micro(ctx)
	}
	res.Notes = k.notes
	say("writing RESULTS.md and results.txt into %s", set.Out)
	if err := os.WriteFile(filepath.Join(set.Out, "RESULTS.md"), []byte(markdown(res)), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(set.Out, "results.txt"), []byte(benchstat(res)), 0o644)
}

// say tells the person who waits.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, "bench: "+format+"\n", args...) }
