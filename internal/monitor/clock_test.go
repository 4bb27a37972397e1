package monitor_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trainmedic/trainmedic/internal/casefile"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
)

// stamped are the lines of ten steps, three seconds each, by a clock.
func stamped(clock time.Time, from int) string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "%s INFO step %d/5000 loss=2.%d lr=3e-4\n", clock.Add(time.Duration(3*i)*time.Second).Format("2006-01-02 15:04:05"), from+i, i)
	}
	return b.String()
}

// TestAClockThatJumps: the training's machine sets its clock in the middle. No
// stall and no slow-down is told, and the time that is left stays about right.
func TestAClockThatJumps(t *testing.T) {
	const looks, at = 60, 30
	for _, jump := range []time.Duration{-24 * time.Hour, -3 * time.Hour, -20 * time.Second, 20 * time.Minute, time.Hour, 5 * time.Hour, 24 * 365 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			var all []any
			clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
			for i := range looks {
				if i == at {
					clock = clock.Add(jump)
				}
				all = append(all, stamped(clock.Add(time.Duration(i)*30*time.Second), 1+10*i))
			}
			_, updates := waits(t, monitor.Request{NoBackoff: true, Interval: 30 * time.Second}, all...)
			for i, u := range updates {
				for _, e := range u.Events {
					t.Errorf("look %d: %s %s", i, e.Kind, e.Text)
				}
				if u.Next != 30*time.Second {
					t.Errorf("look %d: the next one is in %v", i, u.Next)
				}
				eta := u.Live.ETA
				if eta != nil && (eta.Seconds < 0 || eta.Low < 0 || eta.High < eta.Low) {
					t.Errorf("look %d: ETA %+v", i, eta)
				}
				if left := float64(3 * (5000 - 10*(i+1))); i > at+5 && (eta == nil || eta.Seconds < left/1.5 || eta.Seconds > left*1.5) {
					t.Errorf("look %d: ETA %+v, %g s are left", i, eta, left)
				}
			}
		})
	}
}

// TestAClockSetBackWhileNobodyWatched: what an earlier server noted lies ahead
// of now.
func TestAClockSetBackWhileNobodyWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ahead := time.Now().Add(5 * time.Hour)
		told := &monitor.Told{Started: ahead, Polls: 7, Memory: casefile.Memory{Begun: ahead, Moved: ahead, Spoke: ahead, Stirred: ahead, Longest: time.Second, Typical: time.Second, Gaps: 20}}
		looks := []any{logged(1, 2), logged(2, 2), "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", "", ""}
		w, err := newMonitor(t, only(&script{looks: looks})).Open(t.Context(), monitor.Request{Target: "run.log", NoBackoff: true}, told)
		if err != nil {
			t.Fatal(err)
		}
		stalled := false
		for range looks {
			u, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range u.Events {
				stalled = stalled || e.Anomaly != nil && e.Anomaly.Type == report.AnomalyStalled
			}
		}
		if !stalled {
			t.Error("the run stands still for nine minutes, and is not said to: the clock's five hours are waited for")
		}
		if r := w.Stop("over"); r.DurationSeconds < 0 {
			t.Errorf("it was watched for %g s", r.DurationSeconds)
		}
	})
}
