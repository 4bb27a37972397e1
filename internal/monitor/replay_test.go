package monitor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/trainmedic/trainmedic/internal/diagnose"
	"github.com/trainmedic/trainmedic/internal/failure/all"
	"github.com/trainmedic/trainmedic/internal/logformat"
	"github.com/trainmedic/trainmedic/internal/monitor"
	"github.com/trainmedic/trainmedic/internal/report"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
	sourceall "github.com/trainmedic/trainmedic/internal/source/all"
)

// part is a piece of a log that appears at one moment.
type part struct {
	after time.Duration
	end   int // bytes of the log that are there by then
}

// play is a recorded log that grows again, at its own pace.
type play struct {
	name  string
	text  []byte
	rank  int
	parts []part
}

// longestGap is what is kept of a silence within a recording: the authors of some
// left out hours of lines.
const longestGap = 20 * time.Minute

// record times the lines of a log: by their own time stamps, else evenly, so
// that the whole takes as long as it is given.
func record(st run.Stream, text []byte, length time.Duration) *play {
	p := &play{name: st.Name, text: text, rank: st.Rank}
	var first, last time.Time
	lines := bytes.SplitAfter(bytes.ReplaceAll(text, []byte("\r"), []byte("\r\n")), []byte("\n"))
	for i, l := range lines { // bars go on with \r
		if n := len(l) - 2; n >= 0 && l[n] == '\r' {
			lines[i] = l[:n+1]
		}
	}
	at, stamped, left := 0, 0, time.Duration(0)
	for _, l := range lines {
		at += len(l)
		if t := logformat.ParsePrefix(logformat.Clean(nil, bytes.TrimRight(l, "\r\n"))).Time; !t.IsZero() {
			stamped++
			if first.IsZero() {
				first = t
			}
			if t.After(last) {
				last = t
			}
		}
		d := last.Sub(first)
		d -= left
		if n := len(p.parts); n > 0 {
			before := p.parts[n-1].after
			if cut := d - before - longestGap; cut > 0 {
				left, d = left+cut, d-cut
			}
			d = max(d, before)
		}
		p.parts = append(p.parts, part{d, at})
	}
	if stamped*2 < len(lines) || last.Sub(first) < time.Minute || last.Sub(first) > 20*24*time.Hour {
		length = min(length, time.Duration(len(lines))*time.Minute) // an excerpt of few lines is no slow run
		for i := range p.parts {
			p.parts[i].after = time.Duration(float64(length) * float64(i) / float64(len(lines)))
		}
	}
	return p
}

func (p *play) length() time.Duration { return p.parts[len(p.parts)-1].after }

// stage is a source that plays logs; what else was found of the run is there
// from the start, and exports of its end at the end.
type stage struct {
	began time.Time
	plays []*play
	first run.Observation // without logs
	last  []run.Stream    // exports
	told  []run.Fact      // what they say
	given map[string]int
	looks int
}

func (s *stage) Observe(ctx context.Context, _ run.Cursor) (run.Observation, error) {
	o := run.Observation{At: time.Now()}
	if s.looks++; s.looks == 1 {
		s.began, s.given = time.Now(), map[string]int{}
		o.Facts, o.Checkpoints, o.Gaps = s.first.Facts, s.first.Checkpoints, s.first.Gaps
	}
	for _, p := range s.plays {
		end := 0
		for _, x := range p.parts {
			if x.after <= time.Since(s.began) {
				end = x.end
			}
		}
		from := s.given[p.name]
		if end == from {
			continue
		}
		s.given[p.name] = end
		text := p.text[from:end]
		o.Streams = append(o.Streams, run.Stream{Name: p.name, Rank: p.rank, Kind: "log", Offset: int64(from), Open: func(context.Context) (io.ReadCloser, error) {
			return io.NopCloser(bytes.NewReader(text)), nil
		}})
	}
	if s.over() {
		o.Streams, s.last = append(o.Streams, s.last...), nil
		o.Facts, s.told = append(o.Facts, s.told...), nil
	}
	return o, ctx.Err()
}

func (s *stage) over() bool {
	for _, p := range s.plays {
		if s.given[p.name] < len(p.text) {
			return false
		}
	}
	return true
}

func (s *stage) Close() error { return nil }

// stageOf reads a recorded run; it is nil where there is no log to play.
func stageOf(t *testing.T, target string, looks int, interval time.Duration) *stage {
	t.Helper()
	kind, ref, err := sourceall.Kinds().Resolve(target)
	if err != nil {
		t.Fatal(err)
	}
	src, err := kind.Open(t.Context(), ref, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	o, err := src.Observe(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{first: o}
	exports := map[string]bool{}
	for _, st := range o.Streams {
		if st.Kind != "log" {
			s.last = append(s.last, st)
			exports[st.Name] = st.Kind != "config"
			continue
		}
		r, err := st.Open(t.Context())
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(r)
		r.Close()
		if len(text) > 0 {
			s.plays = append(s.plays, record(st, text, time.Duration(looks)*interval))
		}
	}
	s.first.Facts = slices.DeleteFunc(slices.Clone(o.Facts), func(f run.Fact) bool {
		if exports[f.From.File] {
			s.told = append(s.told, f)
		}
		return exports[f.From.File]
	})
	if len(s.plays) == 0 {
		return nil
	}
	return s
}

func (s *stage) length() time.Duration {
	var d time.Duration
	for _, p := range s.plays {
		d = max(d, p.length())
	}
	return d
}

var theBook = sync.OnceValues(all.Book)

func newMonitor(t testing.TB, kinds source.Registry) *monitor.Monitor {
	t.Helper()
	book, err := theBook()
	if err != nil {
		t.Fatal(err)
	}
	d := &diagnose.Doctor{Book: book, Sources: kinds}
	return &monitor.Monitor{Book: book, Sources: kinds, Conclude: d.Conclude}
}

// only is a registry whose one kind opens src.
func only(src source.Source) source.Registry {
	return source.Registry{{
		Scheme: "file", Type: "local-log", Claim: func(string) bool { return true },
		Open: func(context.Context, string, source.Options) (source.Source, error) { return src, nil },
	}}
}

// told is what a watch told of a run, in order.
type told struct {
	events []report.Event
	ats    []time.Duration
	end    *report.WatchReport
	ended  time.Duration
}

// watchStage watches a stage to its end in simulated time, and some looks longer.
func watchStage(t *testing.T, s *stage, r monitor.Request, after int) (out told) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		r.Target = "run.log"
		w, err := newMonitor(t, only(s)).Open(t.Context(), r, nil)
		if err != nil {
			t.Fatal(err)
		}
		for quiet := 0; quiet < after; {
			u, err := w.Next(t.Context())
			if errors.Is(err, monitor.ErrEnded) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range u.Events {
				out.events, out.ats = append(out.events, e), append(out.ats, time.Since(begin))
			}
			if u.End != nil {
				out.end, out.ended = u.End, time.Since(begin)
			}
			if s.over() {
				quiet++
			}
		}
	})
	return out
}

// rates are how often the replays look.
var rates = []monitor.Request{
	{Interval: 10 * time.Second, NoBackoff: true},
	{Interval: 30 * time.Second},
	{Interval: 2 * time.Minute, NoBackoff: true},
}

func TestHealthyRunsRaiseNoAlarm(t *testing.T) {
	if testing.Short() {
		t.Skip("some 170 runs at three rates")
	}
	for i, target := range healthy(t) {
		if slowly && i%15 > 0 { // all of them run without the race detector
			continue
		}
		t.Run(filepath.Base(target), func(t *testing.T) {
			t.Parallel()
			for _, r := range rates {
				s := stageOf(t, target, 60, r.Interval)
				if s == nil {
					t.Skip("no log")
				}
				if most := s.length() / 240; r.Interval < most {
					r.Interval = most
				}
				got := watchStage(t, s, r, 4)
				for i, e := range got.events {
					cut := e.Anomaly != nil && e.Anomaly.Type == report.AnomalyStalled && got.ats[i] > s.length() // the recording stops, not the run
					if e.Anomaly != nil && e.Anomaly.Grave() && e.Kind != report.EventClosed && !cut {
						t.Errorf("every %v: after %v of %v: %s %s (%s): %s%s", r.Interval, got.ats[i], s.length(), e.Kind, e.Anomaly.Type, e.Anomaly.Severity, e.Text, refText(e.Anomaly))
					}
				}
				if got.end != nil && got.end.TerminalState != report.StateSucceeded && got.end.TerminalState != report.StateEarlyStopped {
					t.Errorf("every %v: ended after %v of %v as %s: %s", r.Interval, got.ended, s.length(), got.end.TerminalState, got.end.StopReason)
				}
			}
		})
	}
}

func refText(a *report.Anomaly) string {
	if a.Ref == nil {
		return ""
	}
	return fmt.Sprintf(" [%s:%d %.150s]", a.Ref.File, a.Ref.Line, a.Ref.Text)
}

// healthy are the recorded runs that went well.
func healthy(t *testing.T) []string {
	t.Helper()
	out, err := filepath.Glob("../diagnose/testdata/healthy/*.log")
	if err != nil {
		t.Fatal(err)
	}
	wants, _ := filepath.Glob("../diagnose/testdata/cases/*/want.json")
	fresh, _ := filepath.Glob("../diagnose/testdata/fresh/*/*/want.json")
	for _, p := range append(wants, fresh...) {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		var w struct {
			Primary string `json:"classes_primary"`
		}
		if err := json.Unmarshal(b, &w); err != nil {
			t.Fatal(err)
		}
		if w.Primary == "none" {
			out = append(out, filepath.Dir(p))
		}
	}
	if extra := os.Getenv("TRAINMEDIC_HEALTHY"); extra != "" {
		more, _ := filepath.Glob(extra)
		out = append(out, more...)
	}
	if len(out) == 0 {
		t.Fatal("no recorded runs: " + strings.Join(wants, " "))
	}
	return out
}
