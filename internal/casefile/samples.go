package casefile

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/trainmedic/trainmedic/internal/logformat"
	"github.com/trainmedic/trainmedic/internal/run"
)

// record is what trackers and state files told as samples: a reader beside those
// of the logs, which stands for the run where no log reports progress. It has no
// LastTime: the clock of a tracker is UTC, that of a log any.
type record struct {
	RankReader
	names map[metric]*metricSeries
	count int       // samples taken
	at    time.Time // of the newest one
	full  bool      // more metrics came than are kept

	before *metricSeries // of the sample before
}

// metric is a name as a tracker spells it.
type metric struct{ tracker, name string }

// metricSeries is where the samples of one metric go.
type metricSeries struct {
	*run.Series
	metric
	trains, leads, evals, epochs bool

	after *metricSeries // the metric that followed it last: rows most often have one order
}

func newRecord() record {
	r := record{names: map[metric]*metricSeries{}}
	r.Rank, r.LastStep, r.Series = run.NoRank, -1, map[string]*run.Series{}
	r.told = logformat.Progress{Step: -1, Epoch: -1, Epochs: -1, RewoundTo: -1, Format: "tracker"}
	return r
}

// Recorded is when the newest sample was recorded, the zero time when none was,
// and the times between steps before it.
func (f *File) Recorded() (last time.Time, between *Gaps) { return f.record.at, &f.record.Gaps }

func (f *File) addSamples(samples []run.Sample) {
	r := &f.record
	for i := range samples {
		r.add(&samples[i])
	}
	if r.full {
		r.full = false
		f.gap(run.Gap{What: "some metrics", Why: fmt.Sprintf("the run has more than %d; those that came later were not kept", maxSeries), Ask: "nothing, unless one of them matters: then a log or a CSV file with it"})
	}
	if n, ok := f.Fact("trainer.max_steps"); ok && r.told.Readings > 0 {
		fmt.Sscan(n.Value, &r.told.Total) //nolint:errcheck // no number, no plan
	}
}

// add takes one sample.
func (r *record) add(s *run.Sample) {
	key := metric{s.Tracker, s.Name}
	m := r.before
	if m != nil && m.metric != key {
		m = m.after
	}
	if m == nil || m.metric != key {
		var known bool
		if m, known = r.names[key]; !known {
			m = r.open(key)
			r.names[key] = m
		}
	}
	if r.before != nil && r.before != m {
		r.before.after = m
	}
	r.before = m
	r.count++
	if s.At.After(r.at) {
		r.at = s.At
	}
	if m == nil {
		return
	}
	if m.epochs {
		r.told.Epoch = s.Value
		return
	}
	step := s.Step
	if step < 0 {
		step = r.LastStep
	} else if step == 0 && m.Count > 0 && m.Last.Step <= 0 { // the program names no steps
		step = -1
	}
	before := m.Last.Step
	m.Add(run.Point{Step: step, Value: s.Value, Ref: s.Ref})
	switch {
	case m.evals:
		r.EvalLast = s.Ref
		r.Evals++
	case m.trains:
		r.advance(step, m.leads && step < before, s)
	}
}

// advance takes a step of training. Metrics may count in other units (epochs):
// the highest step is the run's own, and only the loss can take it back.
func (r *record) advance(step int64, back bool, s *run.Sample) {
	switch {
	case step > r.LastStep:
		if r.Advances++; !s.At.IsZero() {
			r.Gaps.between(r.told.Time, s.At)
			r.told.Time = s.At
		}
	case back && step >= 0 && step < r.LastStep:
		r.told.RewoundTo, r.told.Resumed = step, true
	default:
		return
	}
	r.LastStep, r.LastRef = step, s.Ref
	r.told.Step = step
	r.told.Readings++
}

// open makes the series of a metric; nil where there are too many. The canonical
// name is that of the metric that is spelled so, else of the first that means it.
func (r *record) open(key metric) *metricSeries {
	name := logformat.Canonical(key.name)
	if strings.TrimPrefix(strings.TrimPrefix(strings.ToLower(key.name), "train/"), "trainer/") == "epoch" {
		return &metricSeries{metric: key, epochs: true}
	}
	m := &metricSeries{metric: key, evals: logformat.Evaluates(key.name), Series: &run.Series{Name: name}}
	m.trains = !m.evals && !strings.HasPrefix(strings.ToLower(key.name), "system")
	m.leads = name == "loss"
	if len(r.Series) >= maxSeries && (name == key.name || len(r.Series) >= 2*maxSeries) {
		r.full = true
		return nil
	}
	if old := r.owner(name); old != nil {
		if name == key.name && old.name != name { // it is the name's own
			old.Name = r.free(old.metric, old.tracker != key.tracker)
			r.Series[old.Name] = old.Series
		} else {
			m.Name = r.free(key, old.tracker != key.tracker)
		}
	}
	r.Series[m.Name] = m.Series
	return m
}

// owner is the metric whose series has a name, nil if none has.
func (r *record) owner(name string) *metricSeries {
	if r.Series[name] == nil {
		return nil
	}
	for _, m := range r.names {
		if m != nil && m.Series == r.Series[name] {
			return m
		}
	}
	return nil
}

// free is a name that no series has: the metric's own, or with its tracker's.
func (r *record) free(m metric, other bool) string {
	if other || r.Series[m.name] != nil {
		return m.tracker + ":" + m.name
	}
	return m.name
}

const mostQuoted = 6

// textAt is what was told at a place in words, for what has no line to quote; ""
// when nothing of it is kept.
func (r *record) textAt(ref run.Ref) string {
	var words []string
	step := int64(-1)
	for _, m := range slices.SortedFunc(maps.Values(r.names), bySense) {
		p := m.at(ref)
		if p == nil || len(words) == mostQuoted {
			continue
		}
		words, step = append(words, fmt.Sprintf("%s = %v", m.name, p.Value)), p.Step
	}
	if len(words) == 0 {
		return ""
	}
	text := strings.Join(words, ", ")
	if step >= 0 {
		text += fmt.Sprintf(" at step %d", step)
	}
	return text
}

// bySense puts training before evaluation.
func bySense(a, b *metricSeries) int {
	key := func(m *metricSeries) string {
		switch {
		case m == nil || m.epochs:
			return "3"
		case m.evals:
			return "2" + m.name
		}
		return "1" + m.Name
	}
	return strings.Compare(key(a), key(b))
}

// at is the sample of a place, nil when it is not kept.
func (m *metricSeries) at(ref run.Ref) *run.Point {
	if m == nil || m.epochs || m.Count == 0 {
		return nil
	}
	points := []run.Point{m.First, m.Last, m.Min, m.Max}
	if m.FirstNonFinite != nil {
		points = append(points, *m.FirstNonFinite)
	}
	for _, p := range append(points, m.points(ref.File)...) {
		if p.Ref == ref {
			return &p
		}
	}
	return nil
}

// points are the kept ones, where some are of a file.
func (m *metricSeries) points(file string) []run.Point {
	if m.First.Ref.File != file && m.Last.Ref.File != file {
		return nil
	}
	return m.Points()
}
