// Package plot draws the metrics of a run so that a person sees at a glance what
// happened: a panel for each metric above a common axis of steps, values that are
// not finite, spikes, and the steps of anomalies and evidence marked, a logarithmic
// scale where a linear one would hide most of the curve. A picture is a PNG for a chat, or an
// SVG for a page, whose colours are the page's.
package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
)

// Picture is what is drawn. The zero value is an empty one.
type Picture struct {
	Title  string
	Panels []Panel
	Marks  []Mark
}

// Panel is one metric, or two of one kind: what was trained and what was
// evaluated.
type Panel struct {
	Name  string
	Lines []Line
}

// Line is one series in order of its samples. A step of -1 is not known; a step
// that falls begins a new attempt.
type Line struct {
	Name   string
	Points []run.Point
}

// Role is what a mark stands for.
type Role int

// The roles, the gravest last: of marks at one place it is shown.
const (
	Saved Role = iota
	Sign
	Seen // what a detector read from the metrics
	Proof
)

// Mark is a step worth looking at.
type Mark struct {
	Step  int64
	Label string
	Role  Role
}

// maxMarks and maxPanels keep a picture readable.
const (
	maxMarks  = 6
	maxPanels = 6
)

// pairs are drawn into one panel.
var pairs = map[string]string{"eval_loss": "loss", "eval_accuracy": "accuracy"}

// Of makes the picture of a diagnosis from its series, the first of which are
// the most important; only those with two samples and a step are drawn.
func Of(d *report.Diagnosis, series []*run.Series) Picture {
	p := Picture{Title: d.Summary, Marks: marks(d)}
	at := map[string]int{}
	for _, s := range series {
		if s == nil || s.Count < 2 {
			continue
		}
		line := Line{Name: s.Name, Points: samples(s)}
		if i, ok := at[pairs[s.Name]]; ok {
			p.Panels[i].Lines = append(p.Panels[i].Lines, line)
		} else if len(p.Panels) < maxPanels {
			at[s.Name] = len(p.Panels)
			p.Panels = append(p.Panels, Panel{s.Name, []Line{line}})
		}
	}
	return p
}

// usual are the metrics that a page shows, where the run has them.
var usual = []string{"loss", "eval_loss", "lr", "grad_norm", "accuracy", "eval_accuracy", "perplexity", "loss_scale", "samples_per_second", "tokens_per_second"}

// Usual makes the picture of a diagnosis from the metrics that most runs have;
// series finds one by its name.
func Usual(d *report.Diagnosis, series func(name string) *run.Series) Picture {
	var all []*run.Series
	for _, name := range usual {
		all = append(all, series(name))
	}
	return Of(d, all)
}

// marks are the steps of the evidence, of what detectors saw, and of the
// checkpoint to go on from; one for a step, the gravest first.
func marks(d *report.Diagnosis) []Mark {
	var all []Mark
	named := func(step int64, what string, r Role) Mark {
		return Mark{step, fmt.Sprintf("%s, step %d", what, step), r}
	}
	for i, e := range d.EvidenceRefs {
		switch {
		case e.Step == nil || e.Role == report.RoleContext:
		case i == 0:
			all = append(all, named(*e.Step, string(d.PrimaryCause), Proof))
		default:
			all = append(all, Mark{*e.Step, "", Sign})
		}
	}
	for _, a := range d.Seen {
		if a.Step != nil {
			all = append(all, named(*a.Step, string(a.Type), Seen))
		}
	}
	for _, c := range d.Checkpoints {
		if c.Step != nil && d.BestCheckpoint != nil && c.Path == *d.BestCheckpoint {
			all = append(all, named(*c.Step, "checkpoint", Saved))
		}
	}
	slices.SortStableFunc(all, func(a, b Mark) int { return cmp.Or(cmp.Compare(b.Role, a.Role), cmp.Compare(a.Step, b.Step)) })
	var out []Mark
	for _, m := range all {
		if !slices.ContainsFunc(out, func(o Mark) bool { return o.Step == m.Step && (m.Role != Saved || o.Role == Saved) }) {
			out = append(out, m)
		}
	}
	return out[:min(len(out), maxMarks)]
}

// xy is a sample that can be drawn.
type xy struct{ X, Y float64 }

// strokes cuts a line into pieces that go on without a gap: at values that are
// not finite, and where a new attempt begins. lost are the stretches of places
// without a finite value.
func (l Line) strokes() (pieces [][]xy, lost [][]float64) {
	byStep := l.hasSteps()
	var piece []xy
	var gap []float64
	end := func() {
		if len(piece) > 0 {
			pieces = append(pieces, piece)
		}
		if len(gap) > 0 {
			lost = append(lost, gap)
		}
		piece, gap = nil, nil
	}
	last := math.Inf(-1)
	for i, p := range l.Points {
		x := float64(i)
		if byStep {
			if p.Step < 0 {
				continue
			}
			x = float64(p.Step)
		}
		if x < last {
			end()
		}
		last = x
		if p.Value-p.Value != 0 {
			if len(piece) > 0 {
				end()
			}
			gap = append(gap, x)
			continue
		}
		if len(gap) > 0 {
			end()
		}
		piece = append(piece, xy{x, within(p.Value)})
	}
	end()
	return pieces, lost
}

// within keeps a value where differences and powers of it can be computed.
func within(v float64) float64 {
	const least, most = 1e-100, 1e100
	if math.Abs(v) < least {
		return 0
	}
	return max(-most, min(most, v))
}

// hasSteps reports whether the places of a line are steps; else they are the
// numbers of its samples.
func (l Line) hasSteps() bool {
	n := 0
	for _, p := range l.Points {
		if p.Step >= 0 {
			n++
		}
	}
	return n*2 > len(l.Points)
}

// thin keeps the shape of a piece in at most 2n points: the least and the
// greatest of each n-th of it.
func thin(piece []xy, n int) []xy {
	if len(piece) <= 2*n {
		return piece
	}
	out := make([]xy, 0, 2*n)
	for i := range n {
		part := piece[i*len(piece)/n : (i+1)*len(piece)/n]
		low, high := part[0], part[0]
		for _, p := range part {
			if p.Y < low.Y {
				low = p
			}
			if p.Y > high.Y {
				high = p
			}
		}
		if low.X > high.X {
			low, high = high, low
		}
		out = append(out, low)
		if high != low {
			out = append(out, high)
		}
	}
	return out
}

// smooth is the running median of a noisy piece, nil of one that is short.
func smooth(piece []xy) []xy {
	const least, parts = 120, 40
	if len(piece) < least || !noisy(piece) {
		return nil
	}
	half := max(2, len(piece)/parts/2)
	out := make([]xy, 0, len(piece)/half+2)
	for i := 0; i < len(piece); i += max(1, half/2) {
		part := piece[max(0, i-half):min(len(piece), i+half+1)]
		values := make([]float64, len(part))
		for j, p := range part {
			values[j] = p.Y
		}
		out = append(out, xy{piece[i].X, run.Median(values)})
	}
	return out
}

// noisy reports whether a piece turns at more than one place in five.
func noisy(piece []xy) bool {
	turns := 0
	for i := 2; i < len(piece); i++ {
		if (piece[i].Y-piece[i-1].Y)*(piece[i-1].Y-piece[i-2].Y) < 0 {
			turns++
		}
	}
	return turns*5 > len(piece)
}

// logarithmic reports whether most of a panel would lie on the floor of a linear
// scale: all values are positive and the middle one is below a tenth of the
// height.
func (p Panel) logarithmic() bool {
	var values []float64
	for _, l := range p.Lines {
		pieces, _ := l.strokes()
		for _, piece := range pieces {
			for _, q := range piece {
				if q.Y <= 0 {
					return false
				}
				values = append(values, q.Y)
			}
		}
	}
	if len(values) < 3 {
		return false
	}
	slices.Sort(values)
	low, high := values[0], values[len(values)-1]
	return high/low > 30 && run.Median(values)-low < (high-low)/10
}

// lostLabel says what is not finite and where it began.
func (p Panel) lostLabel() (x float64, label string, ok bool) {
	for _, l := range p.Lines {
		for _, q := range l.Points {
			if q.Value-q.Value != 0 && q.Step >= 0 {
				what := "NaN"
				if !math.IsNaN(q.Value) {
					what = "infinite"
				}
				return float64(q.Step), fmt.Sprintf("%s from step %d", what, q.Step), true
			}
		}
	}
	return 0, "", false
}
