package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/source"
)

// frameworks and tasks are the values of --framework and --task.
var (
	frameworks = []string{"pytorch", "lightning", "deepspeed", "fsdp", "transformers", "accelerate", "megatron", "nemo", "tensorflow", "keras", "jax"}
	tasks      = []string{"classification", "regression", "language-modeling"}
)

// checkLine is a parsed command line of check.
type checkLine struct {
	req       diagnose.Request
	json      bool
	outDir    string
	outDirSet bool
}

func check(ctx context.Context, args []string, s Streams, d Deps) int {
	line, code := parseCheck(args, s, d.Sources)
	if line == nil {
		return code
	}
	res, err := d.Doctor.Diagnose(ctx, line.req)
	if err != nil {
		return blind(s, line, d.Sources, err)
	}
	redact.Value(res.Diagnosis)
	return deliver(s, line, res.Diagnosis)
}

// parseCheck returns nil and the exit status when there is nothing to run.
func parseCheck(args []string, s Streams, kinds source.Registry) (*checkLine, int) {
	f := newFlags("check", s.Err)
	line := &checkLine{}
	o := &line.req.Options
	byFlag := targetFlags(f, kinds)
	f.StringVar(&o.Project, "project", "", "GCP `project` (Vertex targets)")
	f.StringVar(&o.Region, "region", "us-central1", "GCP `region`")
	f.StringVar(&o.Framework, "framework", "", "narrow the checks to one of: "+strings.Join(frameworks, ", "))
	f.StringVar(&o.Task, "task", "", "what to expect of the metrics; one of: "+strings.Join(tasks, ", "))
	f.StringVar(&o.LabelColumn, "target", "", "label `column` to check in CSV, JSONL and Parquet samples")
	f.IntVar(&o.Last, "last", 0, "parse only the last `n` lines (the whole log when not given)")
	f.StringVar(&o.Artifacts, "artifacts", "", "artifact directory beside the target")
	interval := f.Int("interval", 30, "accepted for compatibility: check is one pass")
	maxInterval := f.Int("max-interval", 300, "accepted for compatibility: check is one pass")
	f.Bool("once", false, "accepted for compatibility: check is one pass")
	f.Bool("no-fix", false, "accepted for compatibility: check never changes anything")
	f.StringVar(&line.outDir, "out-dir", ".", "where check-failed-run.json is written")
	f.StringVar(&line.req.RunID, "run-id", "", "run_id of the artifact (a new UUID when not given)")
	f.BoolVar(&line.json, "json", false, "print only the artifact; write a file only with --out-dir")
	if code, ok := f.parse(args, s.Out, checkHelp(f, kinds)); !ok {
		return nil, code
	}
	line.outDirSet = f.Changed("out-dir")
	switch {
	case f.Changed("last") && o.Last <= 0:
		return nil, f.fail("--last %d: needs a number of lines above 0; leave it out to read the whole log", o.Last)
	case *interval <= 0 || *maxInterval <= 0:
		return nil, f.fail("--interval and --max-interval need a number of seconds above 0")
	case o.Framework != "" && !slices.Contains(frameworks, o.Framework):
		return nil, f.fail("--framework %q: want one of %s", o.Framework, strings.Join(frameworks, ", "))
	case o.Task != "" && !slices.Contains(tasks, o.Task):
		return nil, f.fail("--task %q: want one of %s", o.Task, strings.Join(tasks, ", "))
	}
	o.Stdin = s.In
	return resolve(f, line, byFlag, kinds)
}

// resolve finds the one target of the line.
func resolve(f *flags, line *checkLine, byFlag func() []string, kinds source.Registry) (*checkLine, int) {
	targets := append(f.Args(), byFlag()...)
	switch {
	case len(targets) == 0:
		return nil, f.fail("no target. %s", formsText(kinds))
	case len(targets) > 1:
		return nil, f.fail("%d targets (%s): give one; several logs of one run are one target: their directory or a quoted glob",
			len(targets), strings.Join(targets, ", "))
	case targets[0] == "":
		return nil, f.fail("the target is empty. %s", formsText(kinds))
	}
	if form := kinds.NotBuilt(targets[0]); form != "" {
		return nil, f.fail("%s is not supported in this version. %s", form, formsText(kinds))
	}
	line.req.Target = targets[0]
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

// deliver prints the report or the artifact and writes the file; a file that
// cannot be written takes nothing away from the answer.
func deliver(s Streams, line *checkLine, d *report.Diagnosis) int {
	lines := s.Out
	var err error
	if line.json {
		lines = s.Err
		err = report.WriteJSON(s.Out, d)
	}
	err = errors.Join(err, report.WriteText(lines, d, report.TextOptions{Color: colored(lines)}))
	if err == nil && (!line.json || line.outDirSet) {
		err = writeArtifact(s.Err, line.outDir, d)
	}
	if err != nil {
		fmt.Fprintf(s.Err, "trainmedic check: %v\n", err)
	}
	if d.Decision == report.Go {
		return exitGo
	}
	return exitNoGo
}

// blind says why nothing could be seen.
func blind(s Streams, line *checkLine, kinds source.Registry, err error) int {
	fail, code := explain(err, line.req.Target, kinds)
	if line.json && code == exitBlind {
		if err := report.WriteJSON(s.Out, report.ErrorEnvelope{Error: fail}); err != nil {
			fmt.Fprintf(s.Err, "trainmedic check: %v\n", err)
		}
	}
	io.WriteString(s.Err, "trainmedic check: "+fail.Message+"\n"+fail.Ask+"\n") //nolint:errcheck // nowhere left to say it
	return code
}
