package cli

import (
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/source"
)

// frameworks and tasks are the values of --framework and --task.
var (
	frameworks = []string{"pytorch", "lightning", "deepspeed", "fsdp", "transformers", "accelerate", "megatron", "nemo", "tensorflow", "keras", "jax"}
	tasks      = []string{"classification", "regression", "language-modeling"}
)

// runFlags defines the flags that say something of the run beside its target.
func runFlags(f *flags, o *source.Options) {
	f.StringVar(&o.Project, "project", "", "GCP `project` of a Vertex target (gcloud's when not given)")
	f.StringVar(&o.Region, "region", "", "GCP `region` (gcloud's when not given, else us-central1)")
	f.StringVar(&o.Framework, "framework", "", "narrow the checks to one of: "+strings.Join(frameworks, ", "))
	f.StringVar(&o.Task, "task", "", "what to expect of the metrics; one of: "+strings.Join(tasks, ", "))
	f.StringVar(&o.LabelColumn, "target", "", "label `column` to check in CSV, JSONL and Parquet samples")
	f.IntVar(&o.Last, "last", 0, "parse only the last `n` lines (the whole log when not given)")
	f.StringVar(&o.Artifacts, "artifacts", "", "artifact directory beside the target")
	f.BoolVar(&o.AcceptNewHostKey, "accept-new-host-key", false, "take the key of an SSH host that is not known yet, and note it")
}

// badRun refuses values that mean nothing; 0 when all are good.
func badRun(f *flags, o *source.Options, interval, maxInterval int) int {
	switch {
	case f.Changed("last") && o.Last <= 0:
		return f.fail("--last %d: needs a number of lines above 0; leave it out to read the whole log", o.Last)
	case interval <= 0 || maxInterval <= 0:
		return f.fail("--interval and --max-interval need a number of seconds above 0")
	case o.Framework != "" && !slices.Contains(frameworks, o.Framework):
		return f.fail("--framework %q: want one of %s", o.Framework, strings.Join(frameworks, ", "))
	case o.Task != "" && !slices.Contains(tasks, o.Task):
		return f.fail("--task %q: want one of %s", o.Task, strings.Join(tasks, ", "))
	}
	return 0
}

// resolve finds the one target of the line, or the exit status where there is none.
func resolve(f *flags, byFlag func() []string, kinds source.Registry) (string, int) {
	targets := append(f.Args(), byFlag()...)
	switch {
	case len(targets) == 0:
		return "", f.fail("no target. %s", formsText(kinds))
	case len(targets) > 1:
		return "", f.fail("%d targets (%s): give one; several logs of one run are one target: their directory or a quoted glob",
			len(targets), strings.Join(targets, ", "))
	case targets[0] == "":
		return "", f.fail("the target is empty. %s", formsText(kinds))
	}
	return targets[0], 0
}

// targetFlags defines the flags of the kinds that name a target. The returned
// function collects the targets given.
func targetFlags(f *flags, kinds source.Registry) func() []string {
	var given []func() (string, bool)
	text := func(scheme, name, doc string) {
		v := f.String(name, "", doc)
		given = append(given, func() (string, bool) { return scheme + ":" + *v, f.Changed(name) })
	}
	for _, k := range kinds {
		name := strings.TrimLeft(k.Flag, "-")
		switch {
		case name == "":
		case k.Scheme == "traceback": // its text comes on standard input
			v := f.Bool(name, false, k.Doc)
			given = append(given, func() (string, bool) { return k.Scheme + ":-", *v })
		default:
			text(k.Scheme, name, k.Doc)
		}
	}
	return func() []string {
		var out []string
		for _, g := range given {
			if t, ok := g(); ok {
				out = append(out, t)
			}
		}
		return out
	}
}
