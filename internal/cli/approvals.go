package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/gate/person"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
)

// approvals lists what waits.
func approvals(ctx context.Context, args []string, s Streams, _ Deps) int {
	f := newFlags("approvals", s.Err)
	socket := socketFlag(f)
	asJSON := f.Bool("json", false, "print all plans of the running servers as JSON")
	verify := f.Bool("verify", false, "check that the audit is whole: every line follows the one before it")
	pass := f.Bool("set-passphrase", false, "set the passphrase of the approval page")
	if code, ok := f.parse(args, s.Out, "usage: trainmedic approvals [flags]\n\nLists the actions that wait for a person.\n\nFlags:\n"+f.FlagUsages()); !ok {
		return code
	}
	if f.NArg() > 0 {
		return f.fail("unexpected argument %q", f.Arg(0))
	}
	dir, err := gate.StateDir()
	switch {
	case err != nil:
	case *verify:
		return verifyAudit(s, dir)
	case *pass:
		err = setPassphrase(s, dir)
	default:
		err = list(ctx, s, dir, *socket, *asJSON)
	}
	return f.done(err)
}

func socketFlag(f *flags) *string {
	return f.String("socket", "", "the socket of a server of another user, at `path`")
}

// done prints why a command about approvals did nothing.
func (f *flags) done(err error) int {
	if err == nil {
		return exitGo
	}
	io.WriteString(f.err, "trainmedic "+f.Name()+": "+redact.Clip(strings.TrimPrefix(err.Error(), "gate: "), 1000)+"\n") //nolint:errcheck // nowhere left to say it
	return exitBlind
}

func verifyAudit(s Streams, dir string) int {
	n, head, err := gate.Verify(dir)
	if err != nil {
		fmt.Fprintf(s.Err, "trainmedic approvals: %s\n", redact.Text(err.Error()))
		return exitNoGo
	}
	fmt.Fprintf(s.Out, "The audit is whole: %d entries; the last one is %s.\nWhoever cut it off behind an earlier entry shows only to one who noted a later digest.\n", n, head[:min(16, len(head))])
	return exitGo
}

func sockets(path string) []string {
	if path == "" {
		return nil
	}
	return []string{path}
}

func list(ctx context.Context, s Streams, dir, socket string, asJSON bool) error {
	plans, _, err := person.All(ctx, dir, sockets(socket)...)
	redact.Value(&plans)
	if asJSON {
		if plans == nil {
			plans = []gate.Record{}
		}
		return errors.Join(err, report.WriteJSON(s.Out, plans))
	}
	waiting := 0
	for i := range plans {
		if plans[i].State == gate.Pending {
			waiting++
			showPlan(s.Out, &plans[i])
			fmt.Fprintf(s.Out, "  trainmedic approve %s     or     trainmedic deny %s\n\n", plans[i].ID, plans[i].ID)
		}
	}
	if waiting == 0 && err == nil {
		fmt.Fprintln(s.Out, "Nothing waits for you.")
	}
	return err
}

// showPlan prints what a person decides by.
func showPlan(w io.Writer, r *gate.Record) {
	fmt.Fprintf(w, "%s  %s  code %s  void in %s\n%s\n", r.ID, r.Action, r.Short(), max(0, time.Until(r.Expires).Round(time.Second)), indent(r.Does))
	for _, x := range []struct{ name, value string }{{"changed", r.Changed}, {"run", r.Target}, {"plan", r.Fix}, {"worked if", r.Validate}, {"asked by", r.Principal}} {
		if x.value != "" {
			fmt.Fprintf(w, "  (%s: %s)\n", x.name, x.value)
		}
	}
}

func approve(ctx context.Context, args []string, s Streams, _ Deps) int {
	return decide(ctx, "approve", args, s, true)
}

func deny(ctx context.Context, args []string, s Streams, _ Deps) int {
	return decide(ctx, "deny", args, s, false)
}

func decide(ctx context.Context, name string, args []string, s Streams, yes bool) int {
	f := newFlags(name, s.Err)
	socket := socketFlag(f)
	doc := map[bool]string{true: "Shows what will run, and has it done when you type its code. It needs a terminal.", false: "Refuses an action; just the same is not asked again."}[yes]
	if code, ok := f.parse(args, s.Out, "usage: trainmedic "+name+" ID [flags]\n\n"+doc+"\n\nFlags:\n"+f.FlagUsages()); !ok {
		return code
	}
	if f.NArg() != 1 {
		return f.fail("give the ID of one action; trainmedic approvals lists those that wait")
	}
	return f.done(decideOne(ctx, s, f.Arg(0), *socket, yes))
}

func decideOne(ctx context.Context, s Streams, id, socket string, yes bool) error {
	dir, err := gate.StateDir()
	if err != nil {
		return err
	}
	plans, at, err := person.All(ctx, dir, sockets(socket)...)
	if err != nil && len(plans) == 0 {
		return err
	}
	for i := range plans {
		r := &plans[i]
		if r.ID != id {
			continue
		}
		if r.State != gate.Pending {
			return fmt.Errorf("%s is %s already", id, r.State)
		}
		shown := *r
		redact.Value(&shown)
		showPlan(s.Out, &shown)
		if yes {
			if err := typed(shown.Short()); err != nil {
				return err
			}
		}
		got, err := person.Decide(ctx, at[id], gate.Decision{ID: id, Digest: r.Digest, Yes: yes})
		if err != nil {
			return err
		}
		fmt.Fprintf(s.Out, "%s %s.\n", id, got.State)
		return nil
	}
	return fmt.Errorf("no running server has an action %.20q; trainmedic approvals lists those that wait", id)
}

// typed wants the code from the terminal itself: standard input may be anybody's.
func typed(code string) error {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return errors.New("a person has to approve this in a terminal, and there is none here")
	}
	defer tty.Close()
	fmt.Fprintf(tty, "To approve, type the code %s: ", code)
	line, err := bufio.NewReader(io.LimitReader(tty, 100)).ReadString('\n')
	if err != nil || strings.TrimSpace(line) != code {
		return errors.New("that was not the code: nothing is decided")
	}
	return nil
}

// setPassphrase reads a new passphrase twice from the terminal, unseen.
func setPassphrase(s Streams, dir string) error {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return errors.New("a passphrase is set in a terminal, and there is none here")
	}
	defer tty.Close()
	var got [2]string
	for i, ask := range []string{fmt.Sprintf("New passphrase (%d characters at least): ", person.MinPassphrase), "Again: "} {
		fmt.Fprint(tty, ask)
		b, err := term.ReadPassword(tty.Fd())
		fmt.Fprintln(tty)
		if err != nil {
			return fmt.Errorf("passphrase: %w", err)
		}
		got[i] = string(b)
	}
	if got[0] != got[1] {
		return errors.New("the two are not the same: nothing is set")
	}
	if err := person.SetPassphrase(dir, got[0]); err != nil {
		return err
	}
	fmt.Fprintln(s.Out, "The passphrase is set. Servers take it when they start.")
	return nil
}
