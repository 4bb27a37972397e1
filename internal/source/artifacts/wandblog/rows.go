package wandblog

import (
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/trainmedic/trainmedic/internal/decimal"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source/artifacts/doc"
)

// Rows turns rows of a history into samples. W&B counts calls in _step; where a
// row says how far the training is (train/global_step, or what define_metric
// names), that is the step.
type Rows struct {
	Tracker string // of the samples: W&B and the run, since each rank may have one
	Samples []run.Sample
	Place   Place

	columns map[string]*column
	order   []*column // of the values in the row before: it is most often the same
	nth     int       // value of the row at hand
	axis    *column   // of the row at hand
	at      float64   // of the axis
	calls   int64     // _step
	time    time.Time
	begun   int // the row's first sample
}

// Place is where the steps of a history stand: what a later look has to know.
type Place struct {
	Axis string `json:"axis,omitempty"` // "" while _step counts
	Step int64  `json:"step,omitempty"` // of the axis in the last row that had it
	Call int64  `json:"call,omitempty"` // the last _step
	Not  string `json:"not,omitempty"`  // a key that looked like an axis and went back
	Said string `json:"said,omitempty"` // the axis that define_metric named
}

type column struct {
	name string
	role int
}

// Roles of a column; those from roleStep on are axes, a higher one goes before a
// lower one.
const (
	roleMetric = iota
	roleIgnored
	roleCalls
	roleTime
	roleStep   // step, iteration
	roleGlobal // global_step
	roleSaid   // what define_metric names for all
)

// roleOf tells what a key is.
func (r *Rows) roleOf(key string) int {
	switch key {
	case "_step":
		return roleCalls
	case "_timestamp":
		return roleTime
	case r.Place.Said:
		return roleSaid
	case r.Place.Not:
		return roleIgnored
	}
	if strings.HasPrefix(key, "_") {
		return roleIgnored
	}
	over, base := "", key
	if i := strings.LastIndexAny(key, "/."); i >= 0 {
		over, base = key[:i], key[i+1:]
	}
	switch strings.ToLower(base) {
	case "global_step", "global-step":
		return roleGlobal
	case "step", "iteration", "iter":
		if over == "" || over == "train" || over == "trainer" {
			return roleStep
		}
	}
	return roleMetric
}

const maxColumns = 20_000 // keys that are remembered; the case file keeps fewer

func (r *Rows) column(key []byte) *column {
	r.nth++
	if r.nth <= len(r.order) && r.order[r.nth-1].name == string(key) {
		return r.order[r.nth-1]
	}
	c := r.columns[string(key)]
	if c == nil {
		c = r.add(key)
	}
	r.order = append(r.order[:min(r.nth-1, len(r.order))], c)
	return c
}

func (r *Rows) add(key []byte) *column {
	c := &column{name: string(key)}
	c.role = r.roleOf(c.name)
	if r.columns == nil {
		r.columns = map[string]*column{}
	}
	if len(r.columns) < maxColumns {
		r.columns[c.name] = c
	}
	return c
}

// Number takes one value of the row at hand, which stands at ref: no two values
// of a row at the same, since that is what tells them apart.
func (r *Rows) Number(key []byte, v float64, ref run.Ref) {
	switch c := r.column(key); {
	case c.role == roleMetric:
		r.Samples = append(r.Samples, run.Sample{Name: c.name, Value: v, Ref: ref, Tracker: r.Tracker})
	case c.role == roleIgnored:
	case c.role == roleCalls:
		r.calls = int64(v)
	case c.role == roleTime:
		if v > 0 && v < math.MaxInt32*4.0 {
			sec, frac := math.Modf(v)
			r.time = time.Unix(int64(sec), int64(frac*1e9)).UTC()
		}
	case v == math.Trunc(v) && math.Abs(v) < 1<<53 && (r.axis == nil || c.role > r.axis.role):
		r.axis, r.at = c, v
	}
}

// Calls says which _step the row at hand has, where no item of it does.
func (r *Rows) Calls(n int64) { r.calls = n }

// End ends the row at hand.
func (r *Rows) End() {
	p := &r.Place
	p.Call = r.calls
	switch {
	case r.axis == nil:
	case r.axis.role == roleStep && p.Axis == r.axis.name && int64(r.at) < p.Step: // it counts within an epoch
		r.axis.role, p.Not, p.Axis = roleIgnored, p.Axis, ""
	case p.Axis == "" || p.Axis == r.axis.name || r.axis.role > r.roleOf(p.Axis):
		p.Axis, p.Step = r.axis.name, int64(r.at)
	}
	step := r.calls
	if p.Axis != "" {
		step = p.Step
	}
	for i := r.begun; i < len(r.Samples); i++ {
		s := &r.Samples[i]
		s.Step, s.At = step, r.time
	}
	r.begun, r.axis, r.nth = len(r.Samples), nil, 0
}

// item takes one item of the row at hand.
func (r *Rows) item(it item, ref run.Ref) {
	if it.typed.num != 0 {
		switch f := it.typed; f.num {
		case itemInteger:
			r.Number(it.key, float64(protowire.DecodeZigZag(f.n)), ref)
		case itemNumber:
			r.Number(it.key, math.Float64frombits(f.n), ref)
		}
		return
	}
	r.value(it.key, it.json, ref)
}

// value takes a value of the row at hand as JSON.
func (r *Rows) value(key, json []byte, ref run.Ref) {
	if v, ok := number(json); ok {
		r.Number(key, v, ref)
	} else if len(json) > 0 && json[0] == '{' {
		if n, err := doc.JSON(json); err == nil {
			r.Node(string(key), n, ref)
		}
	}
}

// Node takes a value of the row at hand that was read as a document: a number, or
// numbers below it. A chart, a table or a histogram has a _type. It returns the
// ref of what follows.
func (r *Rows) Node(key string, n *doc.Node, ref run.Ref) run.Ref {
	switch n.Kind {
	case doc.Number, doc.String:
		text := []byte(n.Text)
		if n.Kind == doc.String { // it may be NaN, but no number
			text = []byte(`"` + n.Text + `"`)
		}
		if v, ok := number(text); ok {
			r.Number([]byte(key), v, ref)
			ref.Offset++
		}
	case doc.Map:
		if n.Get("_type") != nil {
			break
		}
		for _, c := range n.Items {
			ref = r.Node(key+"."+c.Key, c, ref)
		}
	}
	return ref
}

// number reads a value that is a number, as JSON or as Python writes it. NaN and
// infinities may stand in quotes.
func number(b []byte) (float64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	switch c := b[0]; {
	case c >= '0' && c <= '9' || c == '-' && len(b) > 1 && b[1] >= '0' && b[1] <= '9':
		return decimal.Parse(b)
	case c == '"' && len(b) > 2:
		b = b[1 : len(b)-1]
	}
	switch strings.ToLower(string(b)) {
	case "nan":
		return math.NaN(), true
	case "infinity", "inf":
		return math.Inf(1), true
	case "-infinity", "-inf":
		return math.Inf(-1), true
	}
	return 0, false
}
