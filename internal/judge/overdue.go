package judge

import (
	"fmt"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
)

// recordedEvery is how long a run may record nothing and still be at work, by the
// rhythm that it has shown.
func recordedEvery(f *casefile.File) (quiet, typical, most time.Duration) {
	last, gaps := f.Recorded()
	if last.IsZero() {
		return 0, 0, 0
	}
	return f.At.Sub(last), gaps.Typical(), max(slowWork, 20*gaps.Typical(), 3*gaps.Longest)
}

// overdue says for how long a run that its tracker calls running has recorded
// nothing, where the tracker hears no heartbeat; "" while that is its rhythm.
func (t tracker) overdue(f *casefile.File) string {
	quiet, typical, most := recordedEvery(f)
	if t.state != "running" || !t.beat.IsZero() || quiet <= most || alive(f) {
		return ""
	}
	last, _ := f.Recorded()
	says := fmt.Sprintf("its last metric, of %s, is %s old", last.UTC().Format(time.RFC3339), age(quiet))
	if typical > 0 {
		says += fmt.Sprintf(" (one came every %s before)", short(typical))
	}
	return says
}

// records reports whether a run that its tracker calls running records metrics in
// its rhythm.
func (t tracker) records(f *casefile.File) bool {
	quiet, _, most := recordedEvery(f)
	return t.state == "running" && t.beat.IsZero() && most > 0 && quiet <= most
}
