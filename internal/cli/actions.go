package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
)

// Actions is what the operator says of actions when a server or a watch starts.
type Actions struct {
	Allow  bool   // safe actions run, the others ask
	Policy string // a file that says it for each action
	Elicit bool
	Page   string
	Hosts  []string
	Socket string
}

func (a *Actions) flags(f *flags) {
	f.BoolVar(&a.Allow, "allow-actions", false, "safe actions (restart the unchanged command, point at a complete checkpoint, fetch) run; all others wait for trainmedic approve")
	f.StringVar(&a.Policy, "policy", "", "a YAML `file` that says allow, ask or deny for each action")
}

// Any reports whether actions can be done at all.
func (a *Actions) Any() bool { return a.Allow || a.Policy != "" }

// Gate is where a watch has its run acted upon: a gate.Gate.
type Gate interface {
	Propose(ctx context.Context, p gate.Proposal) (gate.Record, gate.Ruling, error)
	Execute(ctx context.Context, principal, id string, again *gate.Proposal) (gate.Record, gate.Outcome, error)
	Await(ctx context.Context, principal, id string) (gate.Record, error)
}

// recoverRun does the first fix of the plan that starts a failed run again, if the
// gate lets it; false when the watch is over.
func recoverRun(ctx context.Context, s Streams, line *watchLine, w *monitor.Watch, end *report.WatchReport) (monitor.Acted, bool) {
	if line.gate == nil || end.TerminalState != report.StateFailed || w.Diagnosis() == nil {
		return monitor.Acted{}, false
	}
	for _, f := range w.Diagnosis().Fixes {
		if f.Operation == nil || gate.Action(*f.Operation) != gate.Restart {
			continue
		}
		who := fmt.Sprintf("trainmedic watch, PID %d", os.Getpid())
		a, err := do(ctx, s.Err, line.gate, gate.Proposal{
			Principal: who, Run: w.Name(), Target: end.Target, Action: gate.Restart, Fix: f.Action, Validate: f.Validate,
		})
		if err != nil {
			fmt.Fprintf(s.Err, "Not restarted: %s\n", redact.Clip(strings.TrimPrefix(err.Error(), "gate: "), 500))
			return monitor.Acted{}, false
		}
		return a, true
	}
	fmt.Fprintln(s.Err, "Not restarted: the plan has no fix that starts the run again; the report says what a person may do.")
	return monitor.Acted{}, false
}

// do says what is about to be done, waits for a person where the policy asks for
// one, and has it done.
func do(ctx context.Context, note io.Writer, g Gate, p gate.Proposal) (monitor.Acted, error) {
	rec, ruling, err := g.Propose(ctx, p)
	if err != nil {
		return monitor.Acted{}, err
	}
	fmt.Fprintf(note, "\nAbout to %s (%s):\n%s\n", rec.Action, rec.Short(), indent(rec.Does))
	if ruling == gate.Ask {
		if rec.Changed != "" {
			fmt.Fprintf(note, "  A person has to approve it: %s\n", rec.Changed)
		}
		fmt.Fprintf(note, "Waiting until %s for: trainmedic approve %s\n", rec.Expires.Local().Format("15:04:05"), rec.ID)
		if rec, err = g.Await(ctx, p.Principal, rec.ID); err != nil {
			return monitor.Acted{}, err
		}
	}
	rec, out, err := g.Execute(ctx, p.Principal, rec.ID, nil)
	if err != nil {
		return monitor.Acted{}, err
	}
	if rec.State != gate.Done {
		return monitor.Acted{}, errors.New(rec.Outcome)
	}
	fmt.Fprintf(note, "Done: %s\n\n", rec.Outcome)
	return monitor.Acted{ID: rec.ID, Text: fmt.Sprintf("%s (%s): %s", rec.Action, rec.Decided, rec.Outcome), Validate: rec.Validate, Run: out.Run}, nil
}

func indent(lines []string) string { return "  " + strings.Join(lines, "\n  ") }
