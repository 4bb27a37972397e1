package tools

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/plot"
	"github.com/trainmedic/trainmedic/internal/redact"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// Metrics is the result of extract_metrics.
type Metrics struct {
	LastProgress report.Progress `json:"last_progress"`
	Series       []MetricSeries  `json:"series"`
	Throughput   Throughput      `json:"throughput"`
	ETA          *ETA            `json:"eta" jsonschema:"nullable"`
	Framework    string          `json:"framework"`
	Cut          []report.Cut    `json:"cut"`

	png []byte // nil when no picture was asked for
}

// picture goes beside the result as an image.
func (m *Metrics) picture() []byte { return m.png }

// MetricSeries is one metric: its summary, where it is going, and its shape.
type MetricSeries struct {
	Name    string        `json:"name"`
	Summary report.Metric `json:"summary"`
	Trend   Trend         `json:"trend" jsonschema:"enum=rising,enum=falling,enum=flat,enum=non-finite,enum=too-few"`
	Points  []MetricPoint `json:"points"`
}

// MetricPoint is one sample; the step is null where the log does not tell it.
type MetricPoint struct {
	Step  *int64        `json:"step" jsonschema:"nullable"`
	Value report.Number `json:"value"`
}

// Throughput is the median of the last quarter of each rate.
type Throughput struct {
	Steps   *float64 `json:"steps_per_second" jsonschema:"nullable"`
	Samples *float64 `json:"samples_per_second" jsonschema:"nullable"`
	Tokens  *float64 `json:"tokens_per_second" jsonschema:"nullable"`
}

// ETA is the time left if the run goes on as it did: the median speed, and the
// speeds that nine of ten samples reached or stayed below.
type ETA struct {
	Seconds float64 `json:"seconds"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
}

func extractMetrics() *tool {
	return &tool{
		name: "extract_metrics", title: "Extract metrics", result: "extract_metrics",
		doc: "The run's metrics (loss, lr, grad_norm, …): summary, trend and a thinned series of each, throughput, and the time left if the run goes on.",
		args: object{
			"names":  object{"type": "array", "items": object{"type": "string"}, "maxItems": 100, "description": "Only these metrics."},
			"points": integer("Samples of each series at most (50).", 1, 4096),
			"plot":   boolean("Also a picture (PNG)."),
		},
		run: runMetrics,
	}
}

func runMetrics(ctx context.Context, s *Server, a args) (any, error) {
	res, err := s.look(ctx, a)
	if err != nil {
		return nil, err
	}
	if a.Points == 0 {
		a.Points = 50
	}
	f := res.File
	m := &Metrics{LastProgress: res.Diagnosis.LastProgress, Series: []MetricSeries{}, Framework: res.Diagnosis.Framework, Cut: noCut()}
	names := seriesNames(f)
	for _, name := range names {
		if len(a.Names) == 0 || slices.Contains(a.Names, name) {
			m.Series = append(m.Series, metricSeries(f.Series(name), name, a.Points))
		}
	}
	if len(a.Names) > 0 && len(m.Series) == 0 {
		return nil, &badArgument{fmt.Sprintf("names: the run reports none of %s", strings.Join(a.Names, ", ")), "It reports: " + orNone(strings.Join(names, ", "))}
	}
	m.Throughput = Throughput{recent(f, "steps_per_second"), recent(f, "samples_per_second"), recent(f, "tokens_per_second")}
	m.ETA = eta(m.LastProgress, f.Series("steps_per_second"))
	redact.Value(m)
	if a.Plot {
		if m.png, err = drawn(res, m); err != nil {
			return nil, err
		}
	}
	lists := []report.List{report.First("series", &m.Series, 12)}
	return m, s.fit(m, "Metrics of "+run.Name(redact.Clip(res.Diagnosis.Target, 80)), a, &m.Cut, append(pointLists(m), lists...)...)
}

// drawn is the picture of the series of a result.
func drawn(res *diagnose.Result, m *Metrics) ([]byte, error) {
	var series []*run.Series
	for _, s := range m.Series {
		series = append(series, res.File.Series(s.Name))
	}
	var b bytes.Buffer
	if err := plot.Of(res.Diagnosis, series).PNG(&b); err != nil {
		return nil, fmt.Errorf("tools: %w", err)
	}
	return b.Bytes(), nil
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return redact.Clip(s, 500)
}

// pointLists let the shapes of the least important series go first.
func pointLists(m *Metrics) []report.List {
	var out []report.List
	for i := range slices.Backward(m.Series) {
		p := &m.Series[i]
		all := p.Points
		out = append(out, report.List{Field: "series." + p.Name + ".points", Len: len(all), Min: 10, Keep: func(n int) { p.Points = thin(all, n) }})
	}
	return out
}

// seriesNames lists the metrics, the canonical ones of training first.
func seriesNames(f *casefile.File) []string {
	first := []string{"loss", "eval_loss", "grad_norm", "lr", "accuracy", "eval_accuracy", "perplexity", "loss_scale", "steps_per_second", "samples_per_second", "tokens_per_second"}
	have := map[string]bool{}
	for _, s := range f.AllSeries() {
		have[s.Name] = true
	}
	var out []string
	for _, n := range first {
		if have[n] {
			out = append(out, n)
			delete(have, n)
		}
	}
	return append(out, slices.Sorted(maps.Keys(have))...)
}

func metricSeries(s *run.Series, name string, points int) MetricSeries {
	m := MetricSeries{Name: name, Summary: diagnose.Summarize(s), Trend: trend(s), Points: []MetricPoint{}}
	for _, p := range thin(s.Points(), points) {
		q := MetricPoint{Value: report.Number(p.Value)}
		if p.Step >= 0 {
			step := p.Step
			q.Step = &step
		}
		m.Points = append(m.Points, q)
	}
	return m
}

// thin keeps n evenly spaced elements, the first and the last among them.
func thin[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	out := make([]T, 0, n)
	for i := range n {
		out = append(out, all[i*(len(all)-1)/max(n-1, 1)])
	}
	return out
}

// Trend is where a series is going.
type Trend string

// The trends, over the last half of the series.
const (
	Rising    Trend = "rising"
	Falling   Trend = "falling"
	Flat      Trend = "flat"
	NonFinite Trend = "non-finite"
	TooFew    Trend = "too-few"
)

// trend compares the medians of the third and the last quarter; a change of
// less than two percent, or less than the spread within them, is flat.
func trend(s *run.Series) Trend {
	v := s.Values()
	switch {
	case s.NonFiniteAtEnd > 0:
		return NonFinite
	case len(v) < 8:
		return TooFew
	}
	before, after := v[len(v)/2:len(v)*3/4], v[len(v)*3/4:]
	a, b := quantile(before, .5), quantile(after, .5)
	spread := (quantile(before, .75) - quantile(before, .25) + quantile(after, .75) - quantile(after, .25)) / 2
	switch d := b - a; {
	case math.Abs(d) < 0.02*math.Abs(a) || math.Abs(d) < spread/2:
		return Flat
	case d > 0:
		return Rising
	}
	return Falling
}

func quantile(v []float64, q float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return s[int(q*float64(len(s)-1)+0.5)]
}

// recent is the median of the last quarter of a rate, nil when it was not reported.
func recent(f *casefile.File, name string) *float64 {
	v := f.Series(name).Values()
	if len(v) == 0 {
		return nil
	}
	m := quantile(v[len(v)*3/4:], .5)
	return &m
}

// eta is nil unless the run said how far it wants to go and how fast it is.
func eta(p report.Progress, speed *run.Series) *ETA {
	v := speed.Values()
	if p.Step == nil || p.TotalSteps == nil || *p.Step >= *p.TotalSteps || len(v) == 0 {
		return nil
	}
	v = v[len(v)*3/4:]
	left := float64(*p.TotalSteps - *p.Step)
	slow, usual, fast := quantile(v, .1), quantile(v, .5), quantile(v, .9)
	if slow <= 0 {
		return nil
	}
	return &ETA{Seconds: math.Round(left / usual), Low: math.Round(left / fast), High: math.Round(left / slow)}
}
