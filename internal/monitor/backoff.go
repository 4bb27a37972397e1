package monitor

import (
	"math"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/judge"
	"github.com/trainmedic/trainmedic/internal/run"
)

// backoff is the time between two looks: the skill's ×1.5 after a quiet look, up
// to a cap, and back to the base when something happens.
type backoff struct {
	base, most, now time.Duration
	fixed           bool
}

const grows = 1.5

func (b *backoff) reset() { b.now = b.base }

// quiet lets the next look wait longer.
func (b *backoff) quiet() {
	if b.fixed {
		return
	}
	b.now = min(time.Duration(float64(b.now)*grows), b.most)
}

// position is what of a run resets the interval when it moves.
type position struct {
	loss  float64
	epoch float64
	total int64
	state string // of the job and its tasks, name=state, one a line
}

// lossMoves is the change of the loss that counts as one, by the skill.
const lossMoves = 0.05

func positionOf(f *casefile.File) position {
	p := position{loss: math.NaN(), epoch: -1, total: -1}
	if m := f.Main(); m != nil {
		g := m.Progress()
		p.epoch, p.total = math.Floor(g.Epoch), g.Total
	}
	if s := f.Series("loss"); s != nil && s.Count > 0 {
		p.loss = s.Last.Value
	}
	if f.Pipeline != nil {
		p.state = f.Pipeline.Name + "=" + judge.JobState(f.Pipeline.State)
		for _, t := range f.Pipeline.Tasks {
			p.state += "\n" + run.Name(t.Name) + "=" + judge.JobState(t.State)
		}
	}
	return p
}

// movedTo reports whether the loss moved by more than 5 %, a new epoch or stage
// began, or a state changed.
func (p position) movedTo(q position) bool {
	delta := math.Abs(q.loss-p.loss) / math.Max(math.Abs(p.loss), 1e-12)
	return delta > lossMoves || math.IsNaN(q.loss) != math.IsNaN(p.loss) || q.epoch != p.epoch || q.total != p.total || q.state != p.state
}
