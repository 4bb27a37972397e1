package report

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// List is a part of a result that may be shortened to make the whole fit. Keep
// is called with decreasing and increasing lengths; the last call counts.
type List struct {
	Field string
	Len   int
	Min   int // what a first attempt leaves; a second one leaves nothing
	Keep  func(n int)
}

// First is a list whose end is the least important.
func First[T any](field string, s *[]T, min int) List {
	all := *s
	return List{Field: field, Len: len(all), Min: min, Keep: func(n int) { *s = all[:n:n] }}
}

// Last is a list whose beginning is the least important.
func Last[T any](field string, s *[]T, min int) List {
	all := *s
	return List{Field: field, Len: len(all), Min: min, Keep: func(n int) { *s = all[len(all)-n:] }}
}

// Entries is a map of which the named keys stay longest, then the others in
// alphabetical order.
func Entries[T any](field string, m *map[string]T, first []string, min int) List {
	all := *m
	var keys []string
	for _, k := range first {
		if _, ok := all[k]; ok {
			keys = append(keys, k)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(all)) {
		if !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return List{Field: field, Len: len(all), Min: min, Keep: func(n int) {
		kept := make(map[string]T, n)
		for _, k := range keys[:n] {
			kept[k] = all[k]
		}
		*m = kept
	}}
}

// Text is a text of which the first least letters always stay.
func Text(field string, s *string, least int) List {
	all := []rune(*s)
	return List{Field: field, Len: len(all), Min: least, Keep: func(n int) { *s = string(all[:min(max(n, least), len(all))]) }}
}

// Fit shortens the lists, the least important first, until v is at most max
// bytes of JSON, and records in cut what it shortened. uri is where the whole
// can be read. If even that is too much, cut has one entry that names them all.
func Fit(v any, max int, uri string, cut *[]Cut, lists ...List) {
	if size(v) <= max {
		return
	}
	kept := make([]int, len(lists))
	for i, l := range lists {
		kept[i] = l.Len
	}
	fits := false
	for _, soft := range []bool{true, false} {
		for i, l := range lists {
			least := min(l.Min, kept[i])
			if !soft {
				least = 0
			}
			if fits || kept[i] <= least {
				continue
			}
			entry := len(*cut)
			*cut = append(*cut, Cut{Field: l.Field, Kept: least, Total: l.Len, URI: uri})
			kept[i], fits = shorten(v, max, l, least, kept[i])
			*cut = mergeCut((*cut)[:entry], Cut{Field: l.Field, Kept: kept[i], Total: l.Len, URI: uri})
		}
	}
	if size(v) > max && len(*cut) > 1 {
		*cut = fold(*cut)
	}
}

// fold makes one entry of all.
func fold(cut []Cut) []Cut {
	one := Cut{URI: cut[0].URI}
	var fields []string
	for _, c := range cut {
		fields = append(fields, c.Field)
		one.Kept, one.Total = one.Kept+c.Kept, one.Total+c.Total
	}
	one.Field = strings.Join(fields, ", ")
	return []Cut{one}
}

// shorten finds the largest length of one list, from least up, with which v fits.
func shorten(v any, max int, l List, least, most int) (kept int, fits bool) {
	l.Keep(least)
	if size(v) > max {
		return least, false
	}
	for least+1 < most {
		middle := (least + most) / 2
		l.Keep(middle)
		if size(v) <= max {
			least = middle
		} else {
			most = middle
		}
	}
	l.Keep(least)
	return least, true
}

// mergeCut replaces the entry of the same field, if there is one.
func mergeCut(cut []Cut, c Cut) []Cut {
	for i := range cut {
		if cut[i].Field == c.Field {
			cut[i] = c
			return cut
		}
	}
	return append(cut, c)
}

// Compact is v as one line of JSON without HTML escapes.
func Compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

func size(v any) int {
	b, err := Compact(v)
	if err != nil {
		return 0
	}
	return len(b)
}

// mainMetrics are the metrics that stay longest.
var mainMetrics = []string{"loss", "eval_loss", "grad_norm", "lr", "loss_scale", "accuracy", "eval_accuracy", "perplexity", "steps_per_second", "samples_per_second", "tokens_per_second"}

// Bound makes the diagnosis fit into max bytes of JSON.
func (d *Diagnosis) Bound(max int, uri string) {
	lists := []List{
		Entries("metrics", &d.Metrics, mainMetrics, 11),
		First("checkpoints", &d.Checkpoints, 3),
		d.contextList(),
	}
	if d.Pipeline != nil {
		p := *d.Pipeline // the caller's stays whole
		d.Pipeline = &p
		lists = append(lists, First("pipeline.failed_tasks", &p.FailedTasks, 20))
	}
	lists = append(lists, d.lists()...)
	lists = append(lists, First("findings", &d.Findings, 5), First("next_commands", &d.NextCommands, 5), First("fixes", &d.Fixes, 5),
		Text("failure_context.file", &d.FailureContext.File, 100), Text("target", &d.Target, 100), Text("summary", &d.Summary, 200))
	Fit(d, max, uri, &d.Cut, lists...)
	d.dropRefs()
}

// contextList keeps the lines around the proving one.
func (d *Diagnosis) contextList() List {
	c := &d.FailureContext
	all, first, at := c.Lines, c.FirstLine, 0
	if len(d.EvidenceRefs) > 0 && d.EvidenceRefs[0].File == c.File {
		at = min(max(d.EvidenceRefs[0].Line-first, 0), max(len(all)-1, 0))
	}
	return List{Field: "failure_context.lines", Len: len(all), Min: 20, Keep: func(n int) {
		from := min(max(at-n/2, 0), len(all)-n)
		c.Lines, c.FirstLine = all[from:from+n], first+from
	}}
}

// Fit makes a verdict that is (part of) v fit; see Bound.
func (d *Verdict) Fit(v any, max int, uri string, cut *[]Cut) {
	Fit(v, max, uri, cut, d.lists()...)
	d.dropRefs()
}

func (d *Verdict) lists() []List {
	return []List{
		First("ruled_out", &d.RuledOut, 6),
		First("evidence", &d.Evidence, 5),
		First("evidence_refs", &d.EvidenceRefs, 5),
		First("cause_chain", &d.CauseChain, 5),
		First("contributing_factors", &d.ContributingFactors, 5),
		First("missing_evidence", &d.MissingEvidence, 5),
	}
}

// dropRefs takes away the references to evidence that was cut.
func (d *Verdict) dropRefs() {
	d.CauseChain = slices.Clone(d.CauseChain)
	for i, l := range d.CauseChain {
		if l.Ref != nil && *l.Ref >= len(d.EvidenceRefs) {
			d.CauseChain[i].Ref = nil
		}
	}
	d.RuledOut = slices.Clone(d.RuledOut)
	for i, r := range d.RuledOut {
		if r.Ref != nil && *r.Ref >= len(d.EvidenceRefs) {
			d.RuledOut[i].Ref = nil
		}
	}
}
