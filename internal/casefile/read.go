package casefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/trainmedic/trainmedic/internal/logformat"
	"github.com/trainmedic/trainmedic/internal/run"
	"github.com/trainmedic/trainmedic/internal/scan"
)

// Add reads everything new. An error means that the context ended; a stream
// that breaks off becomes a gap and what was read of it is kept.
func (f *File) Add(ctx context.Context, o run.Observation) error {
	f.At = o.At
	if f.Following {
		f.renew(o)
	}
	for _, v := range o.Facts {
		f.AddFact(v)
	}
	f.addCheckpoints(o.Checkpoints)
	f.addProcesses(o)
	f.gap(o.Gaps...)
	if o.Pipeline != nil {
		f.Pipeline = o.Pipeline
	}
	f.addSamples(o.Samples)
	if err := f.read(ctx, o.Streams); err != nil && !errors.Is(err, ErrNoTime) {
		return err
	}
	f.readFacts(o.Facts)
	f.detectFramework()
	f.Pulse.beat(f, o.Facts)
	return ended(ctx)
}

// ErrNoTime is the cause of a context whose deadline ends the reading but not the
// case: what was read is kept, and the rest is a gap.
var ErrNoTime = errors.New("there was no time to read more")

// ended is why a context ended, nil while it has not.
func ended(ctx context.Context) error {
	if err := ctx.Err(); err == nil || !errors.Is(context.Cause(ctx), ErrNoTime) {
		return err
	}
	return ErrNoTime
}

// origin is a stream whose lines stand elsewhere in the file than their number
// says: messages that were taken out of a document, or put into order.
type origin interface{ Origin(line int) run.Ref }

// reading is the state of reading one stream.
type reading struct {
	f         *File
	s         *Stream
	line      int   // of the block's first line, counting \n
	order     int   // counting every line, those that end in \r too
	base      int64 // offset of the block in the file
	start     int64 // and of the stream
	blk       *block
	origin    origin
	kept      kept
	found     []finding
	pending   []pending
	readers   byRank[*RankReader] // those of the stream
	live      []*Traceback        // tracebacks that may want the next lines
	timed     *rec                // the last line of the block that had a time, where the stream was not told
	at        lineAt              // the line at hand
	rootCause bool                // the launcher's next entry is what it calls the root cause
	onlyOne   bool                // it reported no other failure
	exitTime  string
	rest      []byte // of a followed stream: its last line, which lacks its end
}

// read reads the streams, each once and in order. What is said of a line alone
// is found by workers ahead of it; here the lines are put together.
func (f *File) read(ctx context.Context, streams []run.Stream) error {
	if len(streams) == 0 {
		return ctx.Err()
	}
	if f.forms == nil {
		f.forms = logformat.NewForms()
		f.late = f.forms.Late()
	}
	if f.Following { // they are larger than all that a look at a quiet run reads
		defer func() {
			f.late.Close()
			f.forms, f.late, f.nums = nil, nil, nil
		}()
	}
	p := f.start(ctx, f.joined(streams))
	var rd *reading
	opened := 0
	for b := range p.order {
		<-b.done
		if b.stream != nil {
			opened++
			rd = f.open(b.stream)
			rd.origin = b.origin
		}
		if b.opened && len(b.b) > 0 {
			rd.block(b)
		}
		if b.last {
			rd.close(ctx, b)
		}
		p.free <- b
	}
	p.release()
	if left := len(streams) - opened; left > 0 && errors.Is(ended(ctx), ErrNoTime) {
		f.gap(run.Gap{What: fmt.Sprintf("%d more files", left), Why: ErrNoTime.Error(), Ask: "the log that matters alone, or its last lines"})
	}
	return ended(ctx)
}

func (f *File) open(in *run.Stream) *reading {
	if rd := f.continued(in); rd != nil {
		return rd
	}
	s := &Stream{
		Name: in.Name, Kind: in.Kind, Rank: in.Rank, Live: in.Live, ModTime: in.ModTime,
		Readers: map[int]*RankReader{}, lastEvent: map[eventKey][]*Event{},
	}
	f.Streams = append(f.Streams, s)
	rd := &reading{f: f, s: s, line: max(1, in.FirstLine), base: in.Offset, start: in.Offset}
	if f.Following {
		f.readings[in.Name] = rd
	}
	return rd
}

// close takes the end of a stream, or what broke it off.
func (rd *reading) close(ctx context.Context, b *block) {
	f, s := rd.f, rd.s
	if !b.opened {
		s.Err = b.err
		f.gap(run.Gap{What: s.Name, Why: b.err.Error(), Ask: "make the file readable, or copy it and pass the copy"})
		return
	}
	s.Lines = rd.line - 1
	if n := len(b.b); n > 0 && b.b[n-1] != '\n' {
		s.Lines++
	}
	s.Tail, s.Bytes, s.orders = rd.kept.tail, rd.base-rd.start, rd.order
	rd.blk, rd.origin = nil, nil
	if f.Following {
		for _, r := range s.Readers {
			r.reader.Rest()
		}
	}
	if b.err != nil && errors.Is(ended(ctx), ErrNoTime) {
		s.Err = ErrNoTime
		f.gap(run.Gap{What: "the rest of " + s.Name, Why: fmt.Sprintf("%v than its first %d bytes", ErrNoTime, s.Bytes), Ask: "its last lines alone, or a smaller part of it"})
	} else if b.err != nil && ctx.Err() == nil {
		s.Err = b.err
		f.gap(run.Gap{What: s.Name, Why: fmt.Sprintf("it breaks off after %d bytes: %v", s.Bytes, b.err), Ask: "a complete copy of the file"})
	}
}

// block takes the lines of a block.
func (rd *reading) block(b *block) {
	rd.hold(b)
	rd.blk, rd.base, rd.f.memo.order = b, b.base, 0
	log := rd.s.Kind == "" || rd.s.Kind == KindLog
	for i := range b.recs {
		rd.take(i, &b.recs[i], log)
	}
	rd.tellTime()
	rd.at = lineAt{}
	rd.settle()
	rd.forget()
	rd.f.forms.File()
	rd.keep()
	rd.line += bytes.Count(b.b, []byte{'\n'})
	rd.base += int64(len(b.b))
}

// take reads one line. Most lines change nothing but what was last seen of their
// rank: they MUST cost next to nothing here, where no two lines are read at once.
func (rd *reading) take(i int, r *rec, log bool) {
	rd.order++
	if r.flags&fBlank != 0 {
		rd.blank()
		return
	}
	rank := rd.rankOf(int(r.rank))
	if r.flags&fTime != 0 {
		rd.timed = r
	}
	if log {
		k := rd.readerOf(rank)
		k.lastOrder = rd.order
		if r.flags&fInert == 0 || k.reader.Tabular() {
			rd.measure(k, r)
		}
	}
	if len(rd.s.contexts) == 0 && r.hit0 == r.hit1 && r.flags&fFrame == 0 && !rd.tracing(rank) {
		return
	}
	l := rd.lineAt(i, r, rank)
	rd.follow(l)
	rd.trace(l)
	if hasSign(l.hits, rd.f.matcher.launcher) {
		rd.launcher(l)
	}
	rd.events(l)
}

// tellTime gives the stream the time of the last line that had one.
func (rd *reading) tellTime() {
	if rd.timed == nil {
		return
	}
	rd.s.Last = rd.timed.time()
	rd.timed = nil
	if rd.s.First.IsZero() {
		for i := range rd.blk.recs {
			if r := &rd.blk.recs[i]; r.flags&fTime != 0 {
				rd.s.First = r.time()
				return
			}
		}
	}
}

// lineAt is the line at hand.
type lineAt struct {
	index int // in the block
	ref   run.Ref
	rank  int
	time  time.Time
	quiet bool   // its level is INFO, WARNING or DEBUG
	text  []byte // without the launcher's prefix
	whole []byte
	hits  []scan.Hit
	bar   bool // ended by \r
	trace *Traceback
}

func (rd *reading) lineAt(i int, r *rec, rank int) *lineAt {
	whole := rd.blk.clean(r)
	rd.at = lineAt{
		index: i, ref: rd.ref(r), rank: rank, time: r.time(), quiet: r.flags&fQuiet != 0,
		text: whole[r.text:], whole: whole, hits: rd.blk.hits[r.hit0:r.hit1], bar: r.flags&fBar != 0,
	}
	return &rd.at
}

func (rd *reading) ref(r *rec) run.Ref {
	if rd.origin != nil {
		return rd.origin.Origin(rd.line + int(r.line))
	}
	return run.Ref{File: rd.s.Name, Line: rd.line + int(r.line), Offset: rd.base + int64(r.at)}
}

func (r *rec) time() time.Time {
	if r.flags&fTime == 0 {
		return time.Time{}
	}
	return time.Unix(r.sec, int64(r.nsec)).UTC()
}
