package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/muesli/roff"
)

// man prints the manual, made from the same flags as the help.
func man(_ context.Context, args []string, s Streams, d Deps) int {
	f := newFlags("man", s.Err)
	if code, ok := f.parse(args, s.Out, "usage: trainmedic man\n\nPrints the manual page: trainmedic man | man -l -\n"); !ok {
		return code
	}
	if f.NArg() > 0 {
		return f.fail("unexpected argument %q", f.Arg(0))
	}
	const title = "finds out why a training run failed, and watches running ones"
	doc := roff.NewDocument()
	doc.Heading(1, "trainmedic", "trainmedic", time.Now())
	doc.Section("Name")
	doc.Text("trainmedic - " + title)
	doc.Section("Synopsis")
	all := describe(d)
	for _, c := range all {
		doc.Paragraph()
		doc.TextBold("trainmedic " + c.Name)
		doc.Text(" " + c.Args)
	}
	doc.Section("Description")
	doc.Text("Reads what a machine-learning run left behind (logs of all ranks, configurations, checkpoints, exported jobs, metrics of a tracker), decides which class of failure it is, shows the line that proves it, and plans the recovery. A target is one of:")
	for _, form := range d.Sources.Forms() {
		doc.List(strings.Join(strings.Fields(form), " "))
	}
	for _, c := range all {
		doc.Section("trainmedic " + c.Name)
		doc.Text(c.Doc + ".")
		for _, g := range c.Flags {
			doc.TaggedParagraph(-1)
			doc.TextBold("--" + g.Name)
			if g.Value != "" {
				doc.Text(" ")
				doc.TextItalic(g.Value)
			}
			doc.EndSection()
			doc.Text(g.Doc)
		}
	}
	doc.Section("Exit status")
	for _, line := range []string{"0  decision GO: the first fix is safe, or nothing is wrong", "1  nothing at all could be seen", "2  usage", "3  decision NO-GO or CONDITIONAL"} {
		doc.List(line)
	}
	doc.Section("Files")
	doc.Text("check-failed-run.json and babysit-training.json in the working directory or --out-dir; ~/.local/state/trainmedic (or $XDG_STATE_HOME/trainmedic): the journals of watches, and what was decided on actions.")
	fmt.Fprintln(s.Out, strings.TrimSpace(plainRoff(doc.String())))
	return exitGo
}

// plainRoff names what is not ASCII, as every roff reads it.
func plainRoff(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r > 127 {
			fmt.Fprintf(&b, `\[u%04X]`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
