// Package cli is the face of trainmedic for people: it parses a command line,
// hands the target to the doctor, prints the report and chooses the exit
// status. It decides nothing about a run.
package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/source"
)

// The exit statuses of every command.
const (
	exitGo    = 0 // decision GO
	exitBlind = 1 // nothing at all could be seen
	exitUsage = 2
	exitNoGo  = 3 // decision NO-GO or CONDITIONAL
)

// Doctor looks at one run once.
type Doctor interface {
	Diagnose(ctx context.Context, r diagnose.Request) (*diagnose.Result, error)
}

// Monitor opens watches.
type Monitor interface {
	Open(ctx context.Context, r monitor.Request, told *monitor.Told) (*monitor.Watch, error)
	Attach(r monitor.Request, src source.Started) *monitor.Watch
}

// Deps is what the composition root hands to the commands.
type Deps struct {
	Doctor  Doctor
	Monitor Monitor
	Sources source.Registry
	Version string
	// Start starts a run for watch -- CMD.
	Start func(ctx context.Context, l source.Launch, opt source.Options) (source.Started, error)
	// Notify runs a command with a JSON value on its standard input.
	Notify func(ctx context.Context, command string, v any) error
	// Examine says what this machine lets the sources see; it ends with ctx.
	Examine func(ctx context.Context) []source.Check
	// Serve runs the MCP server until ctx ends, or standard input where it is that.
	Serve func(ctx context.Context, o ServeOptions, s Streams) error
	// Act opens the gate for the watches of this process; the caller closes it.
	Act func(ctx context.Context, a Actions, note io.Writer) (Gate, io.Closer, error)
}

// Streams are the three standard streams of the process.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// command is one subcommand.
type command struct {
	name, args, doc string
	run             func(ctx context.Context, args []string, s Streams, d Deps) int
}

// commands lists the subcommands in the order of the help.
func commands() []command {
	return []command{
		{"check", "TARGET [flags]", "diagnose a failed or unstable run", check},
		{"watch", "TARGET | -- CMD…", "monitor a run until it ends", watch},
		{"doctor", "", "what this machine lets trainmedic see", doctor},
		{"serve", "[flags]", "the MCP server, on standard input and output or over HTTP", serve},
		{"approvals", "", "list the actions that wait for you", approvals},
		{"approve", "ID", "let an action be done", approve},
		{"deny", "ID", "refuse an action", deny},
		{"completion", "SHELL", "print the completion script of bash, zsh or fish", completion},
		{"man", "", "print the manual page", man},
		{"version", "", "print the version", version},
	}
}

// Main runs one command line (without the program's name) and returns the exit
// status.
func Main(ctx context.Context, args []string, s Streams, d Deps) int {
	if len(args) == 0 {
		usage(s.Err)
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "--help":
		usage(s.Out)
		return exitGo
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return c.run(ctx, args[1:], s, d)
		}
	}
	fmt.Fprintf(s.Err, "trainmedic: unknown command %q\n\n", args[0])
	usage(s.Err)
	return exitUsage
}

func usage(w io.Writer) {
	fmt.Fprint(w, "usage: trainmedic COMMAND\n\n")
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-24s %s\n", c.name+" "+c.args, c.doc)
	}
	fmt.Fprint(w, "\nEach command explains itself with --help.\n")
}

func version(_ context.Context, args []string, s Streams, d Deps) int {
	f := newFlags("version", s.Err)
	if code, ok := f.parse(args, s.Out, "usage: trainmedic version\n"); !ok {
		return code
	}
	if f.NArg() > 0 {
		return f.fail("unexpected argument %q", f.Arg(0))
	}
	fmt.Fprintf(s.Out, "trainmedic %s\n", d.Version)
	return exitGo
}
