package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
)

// examination is how long doctor waits for what it asks.
const examination = 2 * time.Second

const doctorHelp = `usage: trainmedic doctor [--json]

Says what this machine lets trainmedic see, and what to do about the rest.
Nothing is changed. The exit status is 0.
`

// checkup is what doctor --json prints.
type checkup struct {
	Checks []source.Check `json:"checks"`
}

func doctor(ctx context.Context, args []string, s Streams, d Deps) int {
	f := newFlags("doctor", s.Err)
	asJSON := f.Bool("json", false, "print JSON")
	if code, ok := f.parse(args, s.Out, doctorHelp); !ok {
		return code
	}
	if f.NArg() > 0 {
		return f.fail("unexpected argument %q", f.Arg(0))
	}
	ctx, cancel := context.WithTimeout(ctx, examination)
	defer cancel()
	v := &checkup{Checks: d.Examine(ctx)}
	redact.Value(v)
	if *asJSON {
		if err := report.WriteJSON(s.Out, v); err != nil {
			fmt.Fprintf(s.Err, "trainmedic doctor: %v\n", err)
		}
		return exitGo
	}
	for _, c := range v.Checks {
		fmt.Fprintf(s.Out, "%-8s %-8s %s\n", c.Name, c.State, c.Seen)
		if c.Fix != "" {
			fmt.Fprintf(s.Out, "%17s fix: %s\n", "", c.Fix)
		}
	}
	return exitGo
}
