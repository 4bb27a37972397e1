package main

import (
	"fmt"
	"strings"
	"time"
	"unicode"
)

// results is everything that was measured.
type results struct {
	Machine  machine
	Settings settings
	Tables   []table
	Micro    string // output of Go benchmarks
	Notes    []string
}

// table finds a table; nil if it was not measured.
func (r results) table(name string) *table {
	for i := range r.Tables {
		if r.Tables[i].Name == name {
			return &r.Tables[i]
		}
	}
	return nil
}

// markdown is RESULTS.md.
func markdown(r results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Results\n\nWritten by `make bench`; [README.md](README.md) says what is measured and how to read it. Medians of %d rounds in which the commands of a table take turns.\n", r.Settings.Rounds)
	fmt.Fprintf(&b, "The mixed log has %s, the other logs half of it, those of metric lines a tenth.", size(r.Settings.Size))
	if r.Settings.Size < 1e9 {
		b.WriteString(" **That is less than the 1 GB of the goals: start-up weighs more here.**")
	}
	b.WriteString("\n\n")
	if x := disturbed(r); x > 1.15 {
		fmt.Fprintf(&b, "**Somebody else used the machine: rg took %.2f times as long as it computed. Ratios of this run are rough; run it again on a quiet machine.**\n\n", x)
	}
	writeMachine(&b, r.Machine)
	writeGoals(&b, r)
	for _, t := range r.Tables {
		writeTable(&b, &t)
	}
	if r.Micro != "" {
		fmt.Fprintf(&b, "## Go benchmarks\n\n```\n%s\n```\n\n", r.Micro)
	}
	if len(r.Notes) > 0 {
		b.WriteString("## Notes of the run\n\n")
		for _, n := range r.Notes {
			fmt.Fprintf(&b, "- %s\n", n)
		}
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// disturbed is the worst ratio of wall to CPU time of the peer, which has one
// thread and files in memory, and so nothing to wait for but others. Runs of
// milliseconds say nothing.
func disturbed(r results) float64 {
	worst := 0.0
	for _, t := range r.Tables {
		if p := t.row(peer); p != nil && p.cpu() > 50*time.Millisecond {
			worst = max(worst, p.wall().Seconds()/p.cpu().Seconds())
		}
	}
	return worst
}

func writeMachine(b *strings.Builder, m machine) {
	b.WriteString("## Machine\n\n| | |\n|---|---|\n")
	for _, row := range [][2]string{
		{"CPU", fmt.Sprintf("%d cores of %s", m.Cores, m.CPU)},
		{"memory", size(m.Memory)},
		{"kernel", m.Kernel},
		{"Go", m.Go},
		{"commit", m.Commit},
		{"date", m.Date},
		{"load before", m.Load},
		{"peers", strings.Join(m.Peers, "; ")},
	} {
		fmt.Fprintf(b, "| %s | %s |\n", row[0], row[1])
	}
	b.WriteString("\n")
}

func writeGoals(b *strings.Builder, r results) {
	b.WriteString("## Goals\n\n| work | goal | measured | |\n|---|---|---|---|\n")
	for _, g := range goals {
		a := g.answer(r)
		verdict := "**not reached**"
		switch {
		case a.text == "":
			a.text, verdict = "–", "not measured"
		case a.reached:
			verdict = "reached"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", g.work, g.want, a.text, verdict)
	}
	b.WriteString("\n")
}

func writeTable(b *strings.Builder, t *table) {
	fmt.Fprintf(b, "## %s\n\n", t.Title)
	if t.Note != "" {
		fmt.Fprintf(b, "%s\n\n", t.Note)
	}
	b.WriteString("| command | wall s | min – max | GB/s | × peer | × cat | CPU s | peak MB |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, r := range t.Rows {
		least, most := r.span()
		fmt.Fprintf(b, "| %s | %.3f | %.3f – %.3f | %.3f | %s | %s | %.2f | %.1f |\n", r.Name, r.wall().Seconds(), least.Seconds(), most.Seconds(),
			r.speed()/1e9, ratio(t, r.Name, r.Peer, 2), ratio(t, r.Name, r.Cat, 3), r.cpu().Seconds(), float64(r.peak())/1e6)
	}
	b.WriteString("\n")
}

func ratio(t *table, name, than string, places int) string {
	x := t.faster(name, than)
	if x == 0 {
		return "–"
	}
	return fmt.Sprintf("%.*f", places, x)
}

// benchstat is results.txt: a line for each run of a command, in the form of
// Go benchmarks, for golang.org/x/perf/cmd/benchstat.
func benchstat(r results) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# commit %s\ncpu: %s\nsize: %s\n", r.Machine.Commit, r.Machine.CPU, strings.ReplaceAll(size(r.Settings.Size), " ", ""))
	b.WriteString("pkg: github.com/trainmedic/trainmedic/bench\n")
	for _, t := range r.Tables {
		for _, row := range t.Rows {
			for _, s := range row.Samples {
				fmt.Fprintf(&b, "Benchmark%s/%s 1 %d ns/op %.2f MB/s %d cpu-ns/op %d peak-bytes\n", title(t.Name), word(row.Name),
					s.Wall.Nanoseconds(), float64(row.Bytes)/s.Wall.Seconds()/1e6, s.CPU.Nanoseconds(), s.Peak)
			}
		}
	}
	if r.Micro != "" {
		b.WriteString(r.Micro + "\n")
	}
	return b.String()
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }

// word makes a name that benchstat takes for one: letters, digits, dots and underscores.
func word(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ReplaceAll(name, "×", "x"), func(c rune) bool {
		return c != '.' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}), "_")
}
