// Package wandblog reads the transaction log of a W&B run, run-ID.wandb, which
// holds all that the run told W&B: history, configuration, console output, the
// system's readings, alerts, the exit code. It reads on where the last look
// ended, also while the log is written. What is damaged is skipped and said.
package wandblog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/source"
)

// Kind is the value of the fact run.FactTracker.
const Kind = "W&B"

// Tracker is who records the samples of a run: of an id that was resumed, the same.
func Tracker(id string) string { return "wandb:" + id }

// Log is one transaction log. Open MUST NOT block; it is called for each look and
// for each time that the console is read.
type Log struct {
	Name    string // relative to the target
	Open    func() (source.Opened, error)
	Ident   string       // of the file, so that another one under its name is read anew
	Watch   bool         // it may be growing: a torn end is no loss
	Console bool         // give the console output too: there is no file that has it
	Room    []run.Sample // memory for the samples, which is written over; may be nil
}

// View is what one look found.
type View struct {
	Samples []run.Sample
	Facts   []run.Fact
	Streams []run.Stream // the new console output, if it was asked for
	Gaps    []run.Gap
	Next    string // where the next look goes on
	More    bool   // there is more than one look gives
}

// Into adds what was found to an observation; key is the log's place in the
// cursor.
func (v View) Into(obs *run.Observation, key string) {
	if len(obs.Samples) == 0 { // most often; they need not be copied
		obs.Samples = v.Samples
	} else {
		obs.Samples = append(obs.Samples, v.Samples...)
	}
	obs.Facts = append(obs.Facts, v.Facts...)
	obs.Streams = append(obs.Streams, v.Streams...)
	obs.Gaps = append(obs.Gaps, v.Gaps...)
	obs.More = obs.More || v.More
	obs.Next[key] = v.Next
}

func (v *View) gap(what, why, ask string) {
	v.Gaps = append(v.Gaps, run.Gap{What: what, Why: why, Ask: ask})
}

// HowItEnded is the gap of a log without an exit record.
const HowItEnded = "how the run ended"

// Bounds of one look.
const (
	maxSamples = 64_000
	maxBytes   = 256 << 20

	leastSample = 32 // bytes that a value takes in the log: a name, a number, framing
)

// state is what a look has to know of the ones before; it is View.Next.
type state struct {
	Ident      string `json:"ident"`
	At         int64  `json:"at"`    // of the next record
	Bytes      int64  `json:"bytes"` // of console output before it
	Lines      int    `json:"lines"`
	Given      bool   `json:"given,omitempty"` // some of it
	Place      Place  `json:"place"`
	Lost       damage `json:"lost"`
	Alerts     int    `json:"alerts,omitempty"`
	Preempting bool   `json:"preempting,omitempty"`
	Exit       *int32 `json:"exit,omitempty"`
}

// Look reads what is new. prev is the Next of the last look, "" at first. An error
// is one of the file system; a file that is no log is a gap.
func (l Log) Look(ctx context.Context, prev string) (View, error) {
	f, err := l.Open()
	if err != nil {
		return View{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return View{}, err
	}
	var s state
	if prev == "" || json.Unmarshal([]byte(prev), &s) != nil || s.Ident != l.Ident || s.At > info.Size() {
		s = state{Ident: l.Ident}
	}
	var v View
	c, err := open(f, s.At, info.Size())
	switch {
	case errors.Is(err, errNoLog):
		v.gap(l.Name, err.Error(), "an undamaged copy of the run's folder")
	case err != nil:
		return View{}, err
	default:
		if err := l.read(ctx, c, &s, &v); err != nil {
			return View{}, err
		}
	}
	next, err := json.Marshal(s)
	v.Next = string(next)
	return v, err
}

// read takes the records that one look gives.
func (l Log) read(ctx context.Context, c *chunks, s *state, v *View) error {
	r := newReading(l, s)
	r.rows.Samples = l.Room[:0]
	if most := min(maxSamples+1000, (c.size-c.end)/leastSample); int64(cap(l.Room)) < most {
		r.rows.Samples = make([]run.Sample, 0, most)
	}
	begin, console := c.end, s.Bytes
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if len(r.rows.Samples) >= maxSamples || c.end-begin >= maxBytes {
			v.More = true
			break
		}
		at := c.end
		b, err := c.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			v.gap("the rest of "+l.Name, "cannot be read "+err.Error(), "an undamaged copy of the file")
			break
		}
		r.record(b, at)
	}
	first := s.Lines + 1
	s.At, s.Place = c.end, r.rows.Place
	s.Bytes, s.Lines = s.Bytes+r.bytes, s.Lines+r.lines
	v.Samples, v.Facts = r.rows.Samples, r.facts
	if !l.Watch { // a check reads it as one, once
		begin, console, first = 0, 0, 1
	}
	if l.Console && s.Bytes > console && (l.Watch || !v.More && !s.Given) {
		s.Given = true
		v.Streams = append(v.Streams, l.console(begin, c.end, console, s.Bytes-console, first))
	}
	s.Lost.Places += c.lost.Places
	s.Lost.Bytes += c.lost.Bytes
	if !v.More {
		l.end(c, r, s, v)
	}
	return nil
}

// end says what the log does not have, once all of it was read.
func (l Log) end(c *chunks, r *reading, s *state, v *View) {
	v.Facts = append(v.Facts, r.last()...)
	if n := s.Lost; n.Places > 0 {
		v.gap("parts of "+l.Name, fmt.Sprintf("%d damaged places, %d bytes in all, were skipped: a checksum or a length in them is wrong", n.Places, n.Bytes),
			"an undamaged copy of the file, if there is one")
	}
	if l.Watch {
		return
	}
	if n := c.size - c.end; n > 0 {
		v.gap("the end of "+l.Name, fmt.Sprintf("it breaks off within a record, %d bytes of which are there: its writer was killed, or the copy is incomplete", n),
			"a complete copy of the file, if there is one")
	}
	if s.Exit == nil && c.end > fileHeader {
		v.gap(HowItEnded, l.Name+" has no exit record: the run was still going on, or it was killed before it could say so",
			"whether its process lives, else its exit code and the kernel log of that time (dmesg -T | tail -n 50)")
	}
}
