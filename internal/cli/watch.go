package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trainmedic/trainmedic/internal/gate"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
)

// watchLine is a parsed command line of watch.
type watchLine struct {
	req       monitor.Request
	command   []string // to start, instead of a target
	json      bool
	notify    string
	outDir    string
	outDirSet bool
	actions   Actions
	gate      Gate // nil where nothing may be done
}

func watch(ctx context.Context, args []string, s Streams, d Deps) int {
	line, code := parseWatch(args, s, d.Sources)
	if line == nil {
		return code
	}
	if line.actions.Any() && !line.req.NoFix {
		g, c, err := d.Act(ctx, line.actions, s.Err)
		switch {
		case errors.Is(err, gate.ErrNotWritten): // the run is watched all the same
			fmt.Fprintf(s.Err, "trainmedic watch: actions are off: %v\n", err)
		case err != nil:
			return blind(s, "watch", line.req.Target, line.json, d.Sources, err)
		default:
			defer c.Close()
			line.gate = g
		}
	}
	w, err := open(ctx, s, line, d)
	if err != nil {
		return blind(s, "watch", line.req.Target, line.json, d.Sources, err)
	}
	defer w.Close()
	r, err := follow(ctx, s, line, w, d)
	if err != nil {
		return blind(s, "watch", line.req.Target, line.json, d.Sources, err)
	}
	return deliverWatch(s, line, r, w.Diagnosis())
}

// open opens the target, or starts the run.
func open(ctx context.Context, s Streams, line *watchLine, d Deps) (*monitor.Watch, error) {
	if len(line.command) == 0 {
		return d.Monitor.Open(ctx, line.req, nil)
	}
	l := source.Launch{Args: line.command, Terminal: s.Err}
	if line.outDirSet {
		l.LogDir = line.outDir
	}
	run, err := d.Start(ctx, l, line.req.Options)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.Err, "Started PID %d; its output goes to %s\n", run.PID(), run.Log())
	return d.Monitor.Attach(line.req, run), nil
}

// follow prints what each look saw until the run or the context ends.
func follow(ctx context.Context, s Streams, line *watchLine, w *monitor.Watch, d Deps) (*report.WatchReport, error) {
	out := s.Out
	if line.json {
		out = s.Err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var shown screen = plain{out, stop}
	if len(line.command) == 0 { // a run that was started here writes to the terminal itself
		shown = newScreen(ctx, out, stop)
	}
	defer shown.close()
	looked := false
	for {
		u, err := w.Next(ctx)
		switch {
		case err == nil:
		case looked && ctx.Err() != nil: // Ctrl-C, or nobody reads on: a watch that is ended says what it saw
			return w.Stop("the watch was interrupted; the run goes on"), nil
		default:
			return nil, err
		}
		looked = true
		redact.Value(u)
		shown.show(u)
		notify(ctx, s, line, d, u)
		if u.End == nil {
			continue
		}
		acted, ok := recoverRun(ctx, s, line, w, u.End)
		if !ok {
			return u.End, nil
		}
		w.GoOn(acted)
	}
}

// parseWatch returns nil and the exit status when there is nothing to run.
func parseWatch(args []string, s Streams, kinds source.Registry) (*watchLine, int) {
	f := newFlags("watch", s.Err)
	line := &watchLine{}
	byFlag := targetFlags(f, kinds)
	runFlags(f, &line.req.Options)
	interval := f.Int("interval", 30, "`seconds` between two looks (60 for Vertex)")
	maxInterval := f.Int("max-interval", 300, "the most `seconds` between two quiet looks: each waits 1.5 times as long as the one before")
	f.BoolVar(&line.req.NoBackoff, "no-backoff", false, "always wait --interval")
	f.BoolVar(&line.req.Once, "once", false, "look once and end")
	f.BoolVar(&line.req.NoFix, "no-fix", false, "observe only, whatever --allow-actions says")
	line.actions.flags(f)
	deadline := f.String("deadline", "", "the run's wall-clock limit: a `time` (RFC 3339) or a duration from now (6h30m)")
	f.StringVar(&line.outDir, "out-dir", ".", "where babysit-training.json is written, and check-failed-run.json when the run failed")
	f.StringVar(&line.req.RunID, "run-id", "", "run_id of the artifact (a new UUID when not given)")
	f.BoolVar(&line.json, "json", false, "print only the artifact, and the lines to standard error; write a file only with --out-dir")
	f.StringVar(&line.notify, "notify", "", "run this `command` with one event as JSON on its standard input when something grave happens and at the end")
	if code, ok := f.parse(args, s.Out, watchHelp(f, kinds)); !ok {
		return nil, code
	}
	line.outDirSet = f.Changed("out-dir")
	if code := badRun(f, &line.req.Options, *interval, *maxInterval); code != 0 {
		return nil, code
	}
	if f.Changed("interval") {
		line.req.Interval = time.Duration(*interval) * time.Second
	}
	line.req.MaxInterval = time.Duration(*maxInterval) * time.Second
	if err := readDeadline(*deadline, &line.req.Deadline); err != nil {
		return nil, f.fail("--deadline %q: want a time such as 2026-01-31T18:00:00Z, or a duration such as 6h30m", *deadline)
	}
	line.req.Options.Stdin = s.In
	if at := f.ArgsLenAtDash(); at >= 0 {
		if line.command = f.Args()[at:]; len(line.command) == 0 || at > 0 || len(byFlag()) > 0 {
			return nil, f.fail("-- wants a command behind it, and no target before it")
		}
		return line, 0
	}
	target, code := resolve(f, byFlag, kinds)
	if code != 0 {
		return nil, code
	}
	line.req.Target = target
	return line, 0
}

// notify tells a command of each event that a person who sleeps wants to know.
func notify(ctx context.Context, s Streams, line *watchLine, d Deps, u *report.Update) {
	if line.notify == "" {
		return
	}
	for i := range u.Events {
		if !u.Events[i].Urgent() {
			continue
		}
		if err := d.Notify(ctx, line.notify, &u.Events[i]); err != nil {
			fmt.Fprintf(s.Err, "trainmedic watch: %v\n", err)
		}
	}
}

func readDeadline(s string, at *time.Time) error {
	if s == "" {
		return nil
	}
	d, err := time.ParseDuration(s)
	if err == nil && d > 0 {
		*at = time.Now().Add(d)
		return nil
	}
	*at, err = time.Parse(time.RFC3339, s)
	return err
}

func watchHelp(f *flags, kinds source.Registry) string {
	return fmt.Sprintf("usage: trainmedic watch TARGET [flags]\n       trainmedic watch [flags] -- CMD [ARG…]\n\nMonitors a run until it ends; with -- starts it itself. %s\n\nFlags:\n%s\nExit status: 0 GO, 3 NO-GO or CONDITIONAL, 1 nothing could be seen, 2 usage.\n", formsText(kinds), f.FlagUsages())
}

// deliverWatch prints the summary or the artifact and writes the files: the
// watch's, and of a run that failed the diagnosis beside it.
func deliverWatch(s Streams, line *watchLine, r *report.WatchReport, d *report.Diagnosis) int {
	redact.Value(r)
	redact.Value(d)
	lines, file := s.Out, !line.json || line.outDirSet
	if line.json {
		lines = s.Err
		file = printJSON(s, "watch", r) != nil || file
	}
	fmt.Fprintln(lines)
	err := report.WriteWatchText(lines, r, report.TextOptions{Color: colored(lines)})
	failed := r.TerminalState == report.StateFailed && d != nil
	if failed {
		fmt.Fprintf(lines, "\n")
		err = errors.Join(err, report.WriteText(lines, d, report.TextOptions{Color: colored(lines)}))
	}
	complain(s, "watch", err)
	if file {
		complain(s, "watch", writeArtifact(s.Err, line.outDir, report.WatchArtifact, r))
	}
	if file && failed {
		complain(s, "watch", writeArtifact(s.Err, line.outDir, report.CheckArtifact, d))
	}
	if r.Decision == report.Go {
		return exitGo
	}
	return exitNoGo
}
