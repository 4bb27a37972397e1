package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// share is how many of those that were asked are right.
type share struct{ right, asked int }

func (s *share) add(right bool) {
	s.asked++
	if right {
		s.right++
	}
}

func (s share) String() string {
	if s.asked == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d (%.0f %%)", s.right, s.asked, 100*float64(s.right)/float64(s.asked))
}

func scoreTable(cases []trial) string {
	var b strings.Builder
	writeFigures(&b, cases)
	writeClasses(&b, cases)
	writeConfusion(&b, cases)
	writeCalibration(&b, cases)
	writeMisses(&b, cases)
	return b.String()
}

func writeFigures(b *strings.Builder, cases []trial) {
	var right, acceptable, alarms, errs share
	facts := make([]share, len(questions))
	for i := range cases {
		t := &cases[i]
		errs.add(t.err != nil)
		if !t.failure() {
			alarms.add(!t.right())
			continue
		}
		right.add(t.right())
		acceptable.add(t.acceptable())
		for q, question := range questions {
			if question.asked(t) {
				facts[q].add(question.right(t))
			}
		}
	}
	b.WriteString("| figure | value |\n|---|---|\n")
	fmt.Fprintf(b, "| right class | %v |\n| acceptable class | %v |\n| false alarms | %v |\n", right, acceptable, alarms)
	for q, question := range questions {
		fmt.Fprintf(b, "| %s | %v |\n", question.name, facts[q])
	}
	fmt.Fprintf(b, "| expected calibration error | %.3f |\n", calibrationError(cases))
	if errs.right > 0 {
		fmt.Fprintf(b, "| no answer | %v |\n", errs)
	}
}

func writeClasses(b *strings.Builder, cases []trial) {
	b.WriteString("\n| class | cases | precision | recall |\n|---|---:|---:|---:|\n")
	for _, class := range classes(cases) {
		var precision, recall share
		for i := range cases {
			t := &cases[i]
			if t.want.Primary == class {
				recall.add(t.right())
			}
			if t.said() == class {
				precision.add(t.right())
			}
		}
		fmt.Fprintf(b, "| %s | %d | %v | %v |\n", class, recall.asked, precision, recall)
	}
}

// classes are all that were wanted or said.
func classes(cases []trial) []string {
	set := map[string]bool{}
	for i := range cases {
		set[cases[i].want.Primary] = true
		set[cases[i].said()] = true
	}
	return slices.Sorted(maps.Keys(set))
}

func writeConfusion(b *strings.Builder, cases []trial) {
	wrong := map[[2]string]int{}
	for i := range cases {
		if t := &cases[i]; !t.right() {
			wrong[[2]string{t.want.Primary, t.said()}]++
		}
	}
	if len(wrong) == 0 {
		return
	}
	b.WriteString("\n| truth | taken for | cases |\n|---|---|---:|\n")
	byName := func(x, y [2]string) int { return strings.Compare(x[0]+" "+x[1], y[0]+" "+y[1]) }
	for _, pair := range slices.SortedFunc(maps.Keys(wrong), byName) {
		fmt.Fprintf(b, "| %s | %s | %d |\n", pair[0], pair[1], wrong[pair])
	}
}

// bin is the failures whose stated confidence lies in one fifth.
type bin struct {
	share
	stated float64 // sum
}

func (c bin) gap() float64 {
	return math.Abs(float64(c.right)-c.stated) / float64(max(1, c.asked))
}

func bins(cases []trial) (all [5]bin, n int) {
	for i := range cases {
		t := &cases[i]
		if c := t.got.Confidence; t.failure() && t.err == nil && c != nil {
			at := &all[min(4, max(0, int(*c*5)))]
			at.add(t.right())
			at.stated += *c
			n++
		}
	}
	return all, n
}

func calibrationError(cases []trial) float64 {
	all, n := bins(cases)
	var sum float64
	for _, c := range all {
		sum += float64(c.asked) / float64(max(1, n)) * c.gap()
	}
	return sum
}

func writeCalibration(b *strings.Builder, cases []trial) {
	b.WriteString("\n| stated confidence | mean | right |\n|---|---:|---:|\n")
	all, _ := bins(cases)
	for i, c := range all {
		if c.asked > 0 {
			fmt.Fprintf(b, "| %.1f – %.1f | %.2f | %v |\n", float64(i)/5, float64(i+1)/5, c.stated/float64(c.asked), c.share)
		}
	}
}

func writeMisses(b *strings.Builder, cases []trial) {
	var rows []string
	for i := range cases {
		t := &cases[i]
		var missed []string
		if !t.right() {
			missed = append(missed, fmt.Sprintf("class: want %s, got %s", t.want.Primary, t.said()))
		}
		for _, q := range questions {
			if t.failure() && q.asked(t) && !q.right(t) {
				missed = append(missed, q.name)
			}
		}
		if t.err != nil {
			missed = append(missed, t.err.Error())
		}
		if len(missed) > 0 {
			rows = append(rows, fmt.Sprintf("| %s | %s |\n", t.id, strings.Join(missed, "; ")))
		}
	}
	if len(rows) > 0 {
		b.WriteString("\n| case | missed |\n|---|---|\n" + strings.Join(rows, ""))
	}
}
