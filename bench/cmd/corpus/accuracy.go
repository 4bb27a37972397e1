package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// collection is a set of runs with their truth. A log of a healthy run is a
// trial whose truth is none.
type collection struct {
	name, dir string
	load      func(root string) ([]trial, error)
	trials    []trial
}

func collections() []collection {
	return []collection{
		{name: "cases", dir: "internal/diagnose/testdata/cases", load: loadCases},
		{name: "fresh", dir: "internal/diagnose/testdata/fresh", load: loadCases},
		{name: "healthy", dir: "internal/diagnose/testdata/healthy", load: healthyTrials},
	}
}

// healthyTrials are the logs of a folder as trials.
func healthyTrials(root string) ([]trial, error) {
	logs, err := loadLogs(root)
	var all []trial
	for _, l := range logs {
		all = append(all, trial{dir: l.path, id: l.name, want: truth{Primary: none}, single: true})
	}
	return all, err
}

// accuracy measures everything that lies in the tree and writes the document
// and its picture. It is run in the tree's root.
func accuracy(ctx context.Context, d doctor, jobs int, docs string) error {
	all := collections()
	for i := range all {
		c := &all[i]
		var err error
		if c.trials, err = c.load(c.dir); err != nil {
			return err
		}
		each(jobs, c.trials, func(t *trial) {
			t.run(ctx, d)
			var err error
			t.others, err = ask(t.dir)
			t.err = errors.Join(t.err, err)
		})
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := os.WriteFile(filepath.Join(docs, "ACCURACY.md"), []byte(document(all)), 0o644)
	return errors.Join(err, os.WriteFile(filepath.Join(docs, picture), []byte(calibrationPicture(joined(all))), 0o644))
}

// picture is the name of the calibration's.
const picture = "calibration.svg"

func joined(all []collection) []trial {
	var out []trial
	for _, c := range all {
		out = append(out, c.trials...)
	}
	return out
}

// document is ACCURACY.md.
func document(all []collection) string {
	var b strings.Builder
	every := joined(all)
	fmt.Fprintf(&b, `# How right it is

Written by %[1]smake accuracy%[1]s, which runs the program over every run with a known truth in the tree. It sees the run's files only. Shares stand with their 95 %% interval
(Clopper and Pearson).

## What to expect of a run that nobody has seen

These sets were written by people who had not seen the program, and scored before anybody had opened them. They are the only figures here that say what to expect.

`, "`")
	writeSealed(&b)
	b.WriteString(`
## What is in the tree today

All of these were **learnt from**: the catalogue was built with the cases at hand, and the fresh sets were opened once they had been scored (above). That what follows is better says that nothing is lost, not what to expect.

`)
	writeCollections(&b, all)
	b.WriteString("\n## Against what people do without it\n\nThe same runs, all of them together. Only the last two name a class; of the others it is asked whether they notice the failure. The rules were written from general knowledge; the program was built with these runs at hand, so the sealed sets above are the fairer measure of it.\n\n")
	writeBaselines(&b, every)
	b.WriteString("\n## Each class\n\nPrecision: of the runs that were called so, how many are. Recall: of the runs that are, how many were called so.\n")
	writeClasses(&b, every)
	b.WriteString("\n## What is taken for what\n")
	writeConfusion(&b, every)
	fmt.Fprintf(&b, "\n## Stated confidence\n\nOf the diagnoses that are stated with 0.8, about 80 %% should be right. The expected calibration error over all failures is %.3f.\n\n![share of right diagnoses by stated confidence](%s)\n", calibrationError(every), picture)
	writeCalibration(&b, every)
	b.WriteString(`
## Again, and on your own runs

` + "```sh" + `
make accuracy                                                       # this page
go run ./bench/cmd/corpus score FOLDER-OF-CASES                     # with the misses, one by one
go run ./bench/cmd/corpus healthy FOLDER-OF-LOGS                    # every cause that is named is a false alarm
` + "```\n")
	return b.String()
}

// sealed are the sets that were scored before anybody had opened them: failures
// that were put in the right class, and healthy runs that were called failed.
var sealed = []struct {
	what          string
	right, alarms share
}{
	{"a free choice, common kinds and a third silent ones, the newest two sets", share{58, 69}, share{2, 19}},
	{"failures that few write about", share{24, 30}, share{2, 6}},
	{"a free choice of failures, two sets", share{48, 54}, share{1, 10}},
	{"a free choice, two sets before those", share{46, 54}, share{0, 10}},
	{"meant to be hard, three sets", share{66, 86}, share{2, 12}},
	{"silent failures, and healthy runs that look odd", share{11, 26}, share{0, 8}},
	{"condensed logs of public runs that succeeded, at their first look", share{}, share{4, 135}},
}

func writeSealed(b *strings.Builder) {
	b.WriteString("| set | right class | false alarms |\n|---|---|---|\n")
	var right, alarms share
	for _, s := range sealed {
		fmt.Fprintf(b, "| %s | %s | %s |\n", s.what, s.right.within(), s.alarms.within())
		right = share{right.right + s.right.right, right.asked + s.right.asked}
		alarms = share{alarms.right + s.alarms.right, alarms.asked + s.alarms.asked}
	}
	fmt.Fprintf(b, "| **together** | %s | %s |\n", right.within(), alarms.within())
}

func writeCollections(b *strings.Builder, all []collection) {
	b.WriteString("| set | right class | right or a class that the label admits | false alarms |\n|---|---|---|---|\n")
	row := func(name string, trials []trial) {
		var right, acceptable, alarms share
		for i := range trials {
			if t := &trials[i]; t.failure() {
				right.add(t.right())
				acceptable.add(t.acceptable())
			} else {
				alarms.add(!t.right())
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, right.within(), acceptable.within(), alarms.within())
	}
	for _, c := range all {
		row("["+c.name+"](../"+c.dir+")", c.trials)
	}
	row("**together**", joined(all))
}

func writeBaselines(b *strings.Builder, all []trial) {
	b.WriteString("| who | right class | failure noticed | false alarms |\n|---|---|---|---|\n")
	row := func(who string, classes bool, says func(t *trial) string) {
		var right, noticed, alarms share
		for i := range all {
			t := &all[i]
			said := says(t)
			if !t.failure() {
				alarms.add(said != none)
				continue
			}
			noticed.add(said != none && said != "error")
			right.add(said == t.want.Primary)
		}
		if !classes {
			right = share{}
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", who, right.within(), noticed.within(), alarms.within())
	}
	for i, base := range baselines {
		row(base.name, i == len(baselines)-1, func(t *trial) string { return t.others[i] })
	}
	row("trainmedic", true, (*trial).said)
}
