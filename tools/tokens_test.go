package tools_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/failure/all"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	"github.com/trainmedic/trainmedic/tools"
)

// day is a healthy run: a step's line every five seconds for 24 hours, an epoch
// every two hours.
type day struct {
	began time.Time
	step  int
	size  int
	last  []string
	noise *rand.Rand
}

const dayLines = 24 * 3600 / 5

func (d *day) Observe(context.Context, run.Cursor) (run.Observation, error) {
	if d.began.IsZero() {
		d.began = time.Now()
	}
	var b strings.Builder
	for ; d.step < int(time.Since(d.began).Seconds()/5) && d.step < dayLines; d.step++ {
		line := fmt.Sprintf("2026-01-01 00:00:00 | INFO | epoch %d | step %d/%d | loss=%.4f | lr=3.00e-04 | grad_norm=%.3f | 142.1 samples/s\n",
			d.step/1440, d.step+1, dayLines, 2.5-float64(d.step)/dayLines+0.01*d.noise.Float64(), 0.8+0.1*d.noise.Float64())
		b.WriteString(line)
		d.last = append(d.last, line)
	}
	d.last = d.last[max(0, len(d.last)-100):]
	text := b.String()
	o := run.Observation{At: time.Now()}
	if text != "" {
		o.Streams = []run.Stream{{Name: "run.log", Rank: run.NoRank, Kind: "log", Offset: int64(d.size), Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(strings.NewReader(text)), nil
		}}}
		d.size += len(text)
	}
	return o, nil
}

func (d *day) Close() error { return nil }

// TestAQuietDayCostsLittle counts what an agent reads of a healthy run of a day:
// the skill's way, 100 lines at each of its polls, against the answers of
// monitor_run to a client with a progress token (a call an hour) and to one that
// gives up after a minute (a call every 50 seconds).
func TestAQuietDayCostsLittle(t *testing.T) {
	book, err := all.Book()
	if err != nil {
		t.Fatal(err)
	}
	skill, polls, news, line := 0, 0, 0, ""
	synctest.Test(t, func(t *testing.T) {
		d := &day{noise: rand.New(rand.NewPCG(1, 1))}
		kinds := source.Registry{{
			Scheme: "file", Type: "local-log", Claim: func(string) bool { return true },
			Open: func(context.Context, string, source.Options) (source.Source, error) { return d, nil },
		}}
		doctor := &diagnose.Doctor{Book: book, Sources: kinds}
		w, err := (&monitor.Monitor{Book: book, Sources: kinds, Conclude: doctor.Conclude}).Open(t.Context(), monitor.Request{Target: "run.log"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for begin := time.Now(); time.Since(begin) < 24*time.Hour-5*time.Minute; polls++ {
			u, err := w.Next(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			skill += len(strings.Join(d.last, ""))
			line = u.Lines[0]
			for _, e := range u.Events {
				b, _ := json.Marshal(e)
				news += len(b)
				t.Errorf("%s: %s", e.Kind, e.Text)
			}
		}
	})
	quiet, err := json.Marshal(tools.WatchState{MonitorID: "w0123456789ab", Cursor: "12", State: report.StateRunning, StatusLine: line, Events: []report.Event{}, NextPollSeconds: 300})
	if err != nil || len(quiet) > 400 {
		t.Errorf("a quiet answer: %d bytes, %v", len(quiet), err)
	}
	patient, hasty := 24*len(quiet)+news, 24*3600/50*len(quiet)+news
	t.Logf("%d polls; the skill reads %d KB, a client with progress %d KB (1/%d), one that gives up after a minute %d KB (1/%.1f); a quiet answer has %d bytes",
		polls, skill>>10, patient>>10, skill/patient, hasty>>10, float64(skill)/float64(hasty), len(quiet))
	if patient*50 > skill || hasty*5 > skill {
		t.Error("want at most 1/50 and 1/5")
	}
}
