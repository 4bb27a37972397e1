package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
)

// checkLine is a parsed command line of check.
type checkLine struct {
	req       diagnose.Request
	json      bool
	outDir    string
	outDirSet bool
	html      string // where a page is written, "" for none
}

func check(ctx context.Context, args []string, s Streams, d Deps) int {
	line, code := parseCheck(args, s, d.Sources)
	if line == nil {
		return code
	}
	res, err := d.Doctor.Diagnose(ctx, line.req)
	if err != nil {
		return blind(s, "check", line.req.Target, line.json, d.Sources, err)
	}
	redact.Value(res.Diagnosis)
	if line.html != "" {
		if err := writePage(line.html, res); err != nil {
			fmt.Fprintf(s.Err, "trainmedic check: %v\n", err)
		} else {
			fmt.Fprintf(s.Err, "Page: %s\n", line.html)
		}
	}
	return deliver(s, line, res.Diagnosis)
}

// parseCheck returns nil and the exit status when there is nothing to run.
func parseCheck(args []string, s Streams, kinds source.Registry) (*checkLine, int) {
	f := newFlags("check", s.Err)
	line := &checkLine{}
	o := &line.req.Options
	byFlag := targetFlags(f, kinds)
	runFlags(f, o)
	interval := f.Int("interval", 30, "accepted for compatibility: check is one pass")
	maxInterval := f.Int("max-interval", 300, "accepted for compatibility: check is one pass")
	f.Bool("once", false, "accepted for compatibility: check is one pass")
	f.Bool("no-fix", false, "accepted for compatibility: check never changes anything")
	f.StringVar(&line.outDir, "out-dir", ".", "where check-failed-run.json is written")
	f.StringVar(&line.req.RunID, "run-id", "", "run_id of the artifact (a new UUID when not given)")
	f.StringVar(&line.html, "html", "", "also write the report as one page to this `file`, with pictures of the metrics")
	f.BoolVar(&line.json, "json", false, "print only the artifact; write a file only with --out-dir")
	if code, ok := f.parse(args, s.Out, checkHelp(f, kinds)); !ok {
		return nil, code
	}
	line.outDirSet = f.Changed("out-dir")
	if code := badRun(f, o, *interval, *maxInterval); code != 0 {
		return nil, code
	}
	o.Stdin = s.In
	target, code := resolve(f, byFlag, kinds)
	if code != 0 {
		return nil, code
	}
	line.req.Target = target
	return line, 0
}

func formsText(kinds source.Registry) string {
	return "A target is one of:\n  " + strings.Join(kinds.Forms(), "\n  ")
}

func checkHelp(f *flags, kinds source.Registry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "usage: trainmedic check TARGET [flags]\n\nDiagnoses a failed or unstable run. %s\n\nFlags:\n%s\n", formsText(kinds), f.FlagUsages())
	fmt.Fprint(&b, "Exit status: 0 GO, 3 NO-GO or CONDITIONAL, 1 nothing could be seen, 2 usage.\n")
	return b.String()
}

// deliver prints the report or the artifact and writes the file. Neither takes
// anything away from the other: where standard output breaks, the file is
// written, and an artifact that was wanted on it alone is kept in a file.
func deliver(s Streams, line *checkLine, d *report.Diagnosis) int {
	lines, file := s.Out, !line.json || line.outDirSet
	if line.json {
		lines = s.Err
		file = printJSON(s, "check", d) != nil || file
	}
	complain(s, "check", report.WriteText(lines, d, report.TextOptions{Color: colored(lines)}))
	if file {
		complain(s, "check", writeArtifact(s.Err, line.outDir, report.CheckArtifact, d))
	}
	if d.Decision == report.Go {
		return exitGo
	}
	return exitNoGo
}

// printJSON prints an artifact on standard output; the error is one that leaves
// its reader without it.
func printJSON(s Streams, command string, v any) error {
	err := report.WriteJSON(s.Out, v)
	complain(s, command, err)
	if errors.Is(err, syscall.EPIPE) {
		return nil
	}
	return err
}

// blind says why nothing could be seen.
func blind(s Streams, command, target string, asJSON bool, kinds source.Registry, err error) int {
	fail, code := explain(err, target, kinds)
	if asJSON && code == exitBlind {
		if err := report.WriteJSON(s.Out, report.ErrorEnvelope{Error: fail}); err != nil {
			fmt.Fprintf(s.Err, "trainmedic %s: %v\n", command, err)
		}
	}
	io.WriteString(s.Err, "trainmedic "+command+": "+fail.Message+"\n"+fail.Ask+"\n") //nolint:errcheck // nowhere left to say it
	return code
}
