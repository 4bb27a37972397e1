package casefile

import (
	"fmt"
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
}

// metric is a name as a tracker spells it.
type metric struct{ tracker, name string }

// metricSeries is where the samples of one metric go.
type metricSeries struct {
	*run.Series
	metric
	trains, leads, evals, epochs bool
}

func newRecord() record {
	r := record{names: map[metric]*metricSeries{}}
	r.Rank, r.LastStep, r.Series = run.NoRank, -1, map[string]*run.Series{}
	r.told = logformat.Progress{Step: -1, Epoch: -1, Epochs: -1, RewoundTo: -1, Format: "tracker"}
	return r
}

func (f *File) addSamples(samples []run.Sample) {
	r := &f.record
	for i := range samples {
		r.add(&samples[i])
	}
	if r.full {
		r.full = false
		f.Gaps = append(f.Gaps, run.Gap{What: "some metrics", Why: fmt.Sprintf("the run has more than %d; those that came later were not kept", maxSeries), Ask: "nothing, unless one of them matters: then a log or a CSV file with it"})
	}
	if n, ok := f.Fact("trainer.max_steps"); ok && r.told.Readings > 0 {
		fmt.Sscan(n.Value, &r.told.Total) //nolint:errcheck // no number, no plan
	}
}

// add takes one sample.
func (r *record) add(s *run.Sample) {
	key := metric{s.Tracker, s.Name}
	m, known := r.names[key]
	if !known {
		m = r.open(key)
		r.names[key] = m
	}
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
	if step == 0 && m.Count > 0 && m.Last.Step <= 0 { // the program names no steps
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
		return &metricSeries{epochs: true}
	}
	m := &metricSeries{metric: key, evals: logformat.Evaluates(key.name), Series: &run.Series{Name: name}}
	m.trains = !m.evals && !strings.HasPrefix(strings.ToLower(key.name), "system")
	m.leads = name == "loss"
	if len(r.Series) >= maxSeries && name == key.name {
		r.full = true
		return nil
	}
	if old := r.Series[name]; old != nil {
		if m.Name = key.name; r.Series[m.Name] != nil || name == key.name {
			m.Name = key.tracker + ":" + key.name
		}
		if name == key.name && !r.spelled(old) { // it is the name's own
			m.Name = name
			r.rename(old)
		}
	}
	r.Series[m.Name] = m.Series
	return m
}

// spelled reports whether a series has its canonical name by its own spelling.
func (r *record) spelled(s *run.Series) bool {
	for _, m := range r.names {
		if m != nil && m.Series == s {
			return m.name == s.Name
		}
	}
	return false
}

// rename gives a series the name that its tracker spells.
func (r *record) rename(s *run.Series) {
	for _, m := range r.names {
		if m == nil || m.Series != s {
			continue
		}
		s.Name = m.name
		if r.Series[s.Name] != nil {
			s.Name = m.tracker + ":" + m.name
		}
		r.Series[s.Name] = s
		return
	}
}

// textAt is a sample in words, for what has no line to quote; "" when none is
// kept of that place.
func (r *record) textAt(ref run.Ref) string {
	for _, m := range r.names {
		if m == nil || m.epochs {
			continue
		}
		points := []run.Point{m.First, m.Last, m.Min, m.Max}
		if m.FirstNonFinite != nil {
			points = append(points, *m.FirstNonFinite)
		}
		for _, p := range append(points, m.points(ref.File)...) {
			if m.Count > 0 && p.Ref == ref {
				return fmt.Sprintf("%s = %v at step %d", m.name, p.Value, p.Step)
			}
		}
	}
	return ""
}

// points are the kept ones, where some are of a file.
func (m *metricSeries) points(file string) []run.Point {
	if m.First.Ref.File != file && m.Last.Ref.File != file {
		return nil
	}
	return m.Points()
}
