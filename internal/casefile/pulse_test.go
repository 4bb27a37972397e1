package casefile

import (
	"testing"
	"time"
)

// TestTimesAreThoseOfAClockThatNobodySets: what came from a file or an earlier
// process has only the wall's clock, and a jump of that would be silence.
func TestTimesAreThoseOfAClockThatNobodySets(t *testing.T) {
	now := time.Now()
	p := Pulse{Begun: now.Round(0).Add(-time.Hour), Moved: now.Round(0).Add(-time.Minute), Spoke: now.Round(0).Add(5 * time.Hour)}
	p.rebase(now)
	for name, got := range map[string]struct {
		at   time.Time
		want time.Duration
	}{"an hour ago": {p.Begun, time.Hour}, "a minute ago": {p.Moved, time.Minute}, "ahead": {p.Spoke, 0}} {
		if got.at == got.at.Round(0) { // without a monotonic reading
			t.Errorf("%s: %v is the wall's", name, got.at)
		}
		if age := now.Sub(got.at).Round(time.Second); age != got.want {
			t.Errorf("%s: %v, want %v", name, age, got.want)
		}
	}
	if !p.Stirred.IsZero() {
		t.Errorf("what never was is at %v", p.Stirred)
	}
}
