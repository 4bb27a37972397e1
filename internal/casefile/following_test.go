package casefile

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/trainmedic/trainmedic/internal/run"
)

func streamOf(name, text string, offset int) run.Stream {
	return run.Stream{Name: name, Rank: run.NoRank, Offset: int64(offset), Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

func following(t *testing.T) *File {
	t.Helper()
	m, err := NewMatcher(cutSigns)
	if err != nil {
		t.Fatal(err)
	}
	f := New(m)
	f.Following = true
	return f
}

func add(t *testing.T, f *File, streams ...run.Stream) {
	t.Helper()
	if err := f.Add(t.Context(), run.Observation{At: time.Unix(1e9, 0), Streams: streams}); err != nil {
		t.Fatal(err)
	}
}

// splits are the ways in which a source may give a growing log.
var splits = map[string]func(text string, from, to int) (int, int){
	"bytes as they come": func(_ string, from, to int) (int, int) { return from, to },
	"a line without its end is given again": func(text string, from, to int) (int, int) {
		return strings.LastIndexAny(text[:from], "\r\n") + 1, to
	},
	"whole lines only": func(text string, from, to int) (int, int) {
		whole := func(n int) int { return strings.LastIndexAny(text[:n], "\r\n") + 1 }
		if to == len(text) {
			return whole(from), to
		}
		return whole(from), whole(to)
	},
}

func TestAnySplitOverLooksGivesTheSameCaseFile(t *testing.T) {
	for name, split := range splits {
		for seed := range uint64(4) {
			r := rand.New(rand.NewPCG(seed, 7))
			text := mixed(r, 500) + "step=501 loss=0.5"
			whole := following(t)
			whole.Following = false
			add(t, whole, streamOf("a.log", text, 0))
			want := dump(whole)
			f := following(t)
			for at := 0; at < len(text); {
				next := min(len(text), at+1+r.IntN(3000))
				from, to := split(text, at, next)
				if from < to || to == len(text) {
					add(t, f, streamOf("a.log", text[from:to], from))
				}
				at = next
			}
			if err := f.Settle(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := dump(f); got != want {
				a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
				for i := range a {
					if i >= len(b) || a[i] != b[i] {
						t.Fatalf("%s, seed %d, line %d:\nwant %.900s\ngot  %.900s", name, seed, i, a[i], b[min(i, len(b)-1)])
					}
				}
			}
		}
	}
}

func TestALogThatBeginsAnewKeepsTheRunsProgress(t *testing.T) {
	f := following(t)
	add(t, f, streamOf("a.log", "step=1 loss=2.0\nstep=2 loss=1.9\nstep=3 loss=1.8\n", 0))
	add(t, f, streamOf("a.log", "step=4 loss=1.7\n", 0)) // rotated
	if n := len(f.Streams); n != 1 {
		t.Fatalf("want one stream, got %d", n)
	}
	m := f.Main()
	if m.Progress().Step != 4 || m.LastRef.Line != 1 {
		t.Errorf("want step 4 at line 1, got %d at %v", m.Progress().Step, m.LastRef)
	}
}

func TestAFollowedRunKeepsBoundedState(t *testing.T) {
	f := following(t)
	for i := range 6000 {
		o := run.Observation{
			At: time.Unix(int64(i), 0), Facts: []run.Fact{{Key: "process.rss", Value: "100"}},
			Gaps: []run.Gap{{What: "x", Why: "y", Ask: "z"}}, Processes: []run.Process{{PID: 1}}, Checkpoints: []run.Checkpoint{{Path: "c"}},
		}
		if err := f.Add(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if len(f.Facts) != 1 || len(f.Gaps) != 1 || len(f.Processes) != 1 || len(f.Checkpoints) != 1 || len(f.Pulse.Gauges["process.rss"]) > maxGauges {
		t.Errorf("%d facts, %d gaps, %d processes, %d checkpoints, %d readings", len(f.Facts), len(f.Gaps), len(f.Processes), len(f.Checkpoints), len(f.Pulse.Gauges["process.rss"]))
	}
}

func TestThePulseCountsProgressNotLines(t *testing.T) {
	f := following(t)
	var log bytes.Buffer
	look := func(sec int, text string) {
		t.Helper()
		o := run.Observation{At: time.Unix(1e9+int64(sec), 0)}
		if text != "" {
			o.Streams = []run.Stream{streamOf("a.log", text, log.Len())}
			log.WriteString(text)
		}
		if err := f.Add(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	look(0, "step=1 loss=2.0\nstep=2 loss=1.9\n")
	look(30, "step=3 loss=1.8\nstep=4 loss=1.7\n")
	look(60, "step=5 loss=1.6\n")
	if got := f.Pulse.Moved.Unix() - 1e9; got != 60 {
		t.Errorf("steps: moved at %d, want 60", got)
	}
	look(90, "heartbeat: alive\n")
	look(120, "heartbeat: alive\n")
	if got := f.Pulse.Moved.Unix() - 1e9; got != 60 || f.Pulse.Repeats != 2 || f.Pulse.Spoke.Unix() != 1e9+120 {
		t.Errorf("a heartbeat is no progress: moved at %d, %d repeats", got, f.Pulse.Repeats)
	}
	if got := f.Pulse.Gaps.Typical(); got != 15*time.Second && got != 30*time.Second {
		t.Errorf("a step takes 15 to 30 s, learnt %v", got)
	}
	look(150, "Evaluating:  10%|█         | 1/10 [00:01<00:09]\r")
	look(180, "Evaluating:  20%|██        | 2/10 [00:02<00:08]\r")
	if got := f.Pulse.Moved.Unix() - 1e9; got != 180 {
		t.Errorf("a bar is progress: moved at %d, want 180", got)
	}
}
