package casefile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/trainmedic/trainmedic/internal/logformat"
	"github.com/trainmedic/trainmedic/internal/run"
)

const (
	blockSize = 256 << 10
	maxLine   = 1 << 20 // a longer line is read in pieces of this size
	headLines = 400
	tailLines = 80
)

// Add reads everything new. An error means that the context ended; a stream
// that breaks off becomes a gap and what was read of it is kept.
func (f *File) Add(ctx context.Context, o run.Observation) error {
	f.At = o.At
	for _, v := range o.Facts {
		f.AddFact(v)
	}
	f.Checkpoints = append(f.Checkpoints, o.Checkpoints...)
	f.Processes = append(f.Processes, o.Processes...)
	f.Gaps = append(f.Gaps, o.Gaps...)
	if o.Pipeline != nil {
		f.Pipeline = o.Pipeline
	}
	for _, s := range o.Samples {
		f.addSample(s)
	}
	for _, s := range o.Streams {
		if err := f.read(ctx, s); err != nil {
			return err
		}
	}
	f.detectFramework()
	return ctx.Err()
}

func (f *File) addSample(s run.Sample) {
	name := logformat.Canonical(s.Name)
	v := f.samples[name]
	if v == nil {
		v = &run.Series{Name: name}
		f.samples[name] = v
	}
	v.Add(run.Point{Step: s.Step, Value: s.Value, Ref: s.Ref})
}

// reading is the state of reading one stream.
type reading struct {
	f         *File
	s         *Stream
	line      int   // of the line at hand, counting \n
	order     int   // counting every line, those that end in \r too
	base      int64 // offset of the block in the stream
	clean     []byte
	hits      []hit
	tail      ring
	rootCause bool // the launcher's next entry is what it calls the root cause
	onlyOne   bool // it reported no other failure
	exitTime  string
	wasCR     bool // the line before ended in \r: a state of a progress bar
}

type hit struct{ sign, at int }

func (f *File) read(ctx context.Context, in run.Stream) error {
	s := &Stream{
		Name: in.Name, Kind: in.Kind, Rank: in.Rank, Live: in.Live, ModTime: in.ModTime,
		Readers: map[int]*RankReader{}, lastEvent: map[eventKey][]*Event{}, tracer: map[int]*Traceback{},
	}
	f.Streams = append(f.Streams, s)
	r, err := in.Open(ctx)
	if err != nil {
		s.Err = err
		f.Gaps = append(f.Gaps, run.Gap{What: in.Name, Why: err.Error(), Ask: "make the file readable, or copy it and pass the copy"})
		return ctx.Err()
	}
	defer r.Close()
	rd := &reading{f: f, s: s, line: 1}
	err = rd.all(ctx, r)
	s.Tail = rd.tail.lines()
	s.Bytes = rd.base
	s.Lines, s.orders = rd.line-1, rd.order
	if err != nil && ctx.Err() == nil {
		s.Err = err
		f.Gaps = append(f.Gaps, run.Gap{What: in.Name, Why: fmt.Sprintf("it breaks off after %d bytes: %v", s.Bytes, err), Ask: "a complete copy of the file"})
	}
	return ctx.Err()
}

// all reads in blocks that end with a line. The last line may lack its end.
func (rd *reading) all(ctx context.Context, r io.Reader) error {
	buf := make([]byte, 0, blockSize)
	for {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err != nil {
			rd.block(buf)
			if len(buf) > 0 && buf[len(buf)-1] != '\n' {
				rd.line++
			}
			rd.base += int64(len(buf))
			if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && isPlainEOF(r, err) {
				return nil
			}
			return err
		}
		cut := lastLineEnd(buf)
		if cut == 0 {
			if cap(buf) < maxLine {
				buf = append(make([]byte, 0, maxLine), buf...)
				continue
			}
			cut = lastSpace(buf)
		}
		rd.block(buf[:cut])
		rd.base += int64(cut)
		buf = buf[:copy(buf, buf[cut:])]
	}
}

// isPlainEOF tells io.ReadFull's own ErrUnexpectedEOF (a short last block) from
// one that the stream itself returned (a compressed file that was cut).
func isPlainEOF(r io.Reader, err error) bool {
	if err != io.ErrUnexpectedEOF { //nolint:errorlint // ReadFull returns it bare
		return false
	}
	var one [1]byte
	_, again := r.Read(one[:])
	return again == io.EOF
}

// lastLineEnd is the offset behind the last \n or \r near the end of b, or 0. A
// \r as the very last byte may be half of \r\n: it stays for the next block.
func lastLineEnd(b []byte) int {
	for i := len(b) - 1; i > 0; i-- {
		if b[i] == '\n' || b[i] == '\r' && i < len(b)-1 {
			return i + 1
		}
	}
	return 0
}

func lastSpace(b []byte) int {
	if i := bytes.LastIndexByte(b, ' '); i > len(b)/2 {
		return i + 1
	}
	return len(b)
}

func (rd *reading) block(b []byte) {
	rd.hits = rd.hits[:0]
	rd.f.matcher.scanner.Block(b, func(sign, at int) { rd.hits = append(rd.hits, hit{sign, at}) })
	slices.SortFunc(rd.hits, func(x, y hit) int { return x.at - y.at })
	h := 0
	for at := 0; at < len(b); {
		end, next, nl := lineEnd(b, at)
		from := h
		for h < len(rd.hits) && rd.hits[h].at < next {
			h++
		}
		rd.take(b[at:end], rd.base+int64(at), rd.hits[from:h], !nl && next < len(b))
		if nl {
			rd.line++
		}
		at = next
	}
}

// lineEnd finds where the line at `at` ends, where the next begins, and whether
// a \n ended it.
func lineEnd(b []byte, at int) (end, next int, nl bool) {
	n := bytes.IndexByte(b[at:], '\n')
	stop := len(b)
	if n >= 0 {
		stop = at + n
	}
	if r := bytes.IndexByte(b[at:stop], '\r'); r >= 0 {
		end = at + r
		if end+1 == stop && n >= 0 { // \r\n
			return end, stop + 1, true
		}
		return end, end + 1, false
	}
	if n < 0 {
		return len(b), len(b), false
	}
	return stop, stop + 1, true
}

// take reads one line.
func (rd *reading) take(raw []byte, offset int64, hits []hit, bar bool) {
	rd.order++
	if len(bytes.TrimSpace(raw)) == 0 {
		rd.blank()
		return
	}
	rd.clean = logformat.Clean(rd.clean[:0], raw)
	p := logformat.ParsePrefix(rd.clean)
	rank := p.Rank
	if rank == run.NoRank {
		rank = rd.s.Rank
	}
	l := &lineAt{
		ref: run.Ref{File: rd.s.Name, Line: rd.line, Offset: offset}, rank: rank, prefix: p,
		text: rd.clean[p.Len:], whole: rd.clean, hits: hits, bar: bar,
	}
	rd.stamp(l)
	rd.measure(l)
	rd.keep(l)
	rd.trace(l)
	if hasSign(l.hits, rd.f.matcher.launcher) {
		rd.launcher(l)
	}
	rd.events(l)
	rd.wasCR = bar
}

// lineAt is the line at hand.
type lineAt struct {
	ref    run.Ref
	rank   int
	prefix logformat.Prefix
	text   []byte // without the launcher's prefix
	whole  []byte
	hits   []hit
	bar    bool // ended by \r
	trace  *Traceback
}

func (rd *reading) stamp(l *lineAt) {
	t := l.prefix.Time
	if t.IsZero() {
		return
	}
	if rd.s.First.IsZero() {
		rd.s.First = t
	}
	rd.s.Last = t
}

// measure lets the rank's reader see the line.
func (rd *reading) measure(l *lineAt) {
	if rd.s.Kind != "" && rd.s.Kind != KindLog {
		return
	}
	r := rd.s.Readers[l.rank]
	if r == nil {
		r = &RankReader{Rank: l.rank, reader: logformat.NewReader(), Series: map[string]*run.Series{}, LastStep: -1}
		rd.s.Readers[l.rank] = r
	}
	r.lastOrder = rd.order
	v, ok := r.reader.Line(l.text)
	if !ok {
		return
	}
	r.take(v, l)
}

func (r *RankReader) take(v logformat.Reading, l *lineAt) {
	step := v.Step
	if step < 0 {
		step = r.LastStep
	}
	if v.Phase == logformat.PhaseEval {
		r.EvalLast = l.ref
		r.Evals++
	}
	for _, m := range v.Values {
		r.add(metricName(m.Name, v.Phase), run.Point{Step: step, Value: m.Value, Ref: l.ref})
	}
	if !v.Progress {
		return
	}
	if v.Step > r.LastStep {
		r.Advances++
	}
	if v.Step >= 0 {
		r.LastStep = v.Step
	}
	r.LastRef = l.ref
	if !l.prefix.Time.IsZero() {
		r.LastTime = l.prefix.Time
	}
}

const maxSeries = 400

func (r *RankReader) add(name string, p run.Point) {
	s := r.Series[name]
	if s == nil {
		if len(r.Series) >= maxSeries {
			return
		}
		s = &run.Series{Name: name}
		r.Series[name] = s
	}
	s.Add(p)
}

// metricName marks the metrics of evaluation lines as such.
func metricName(name string, phase logformat.Phase) string {
	if phase == logformat.PhaseEval && (name == "loss" || name == "accuracy" || name == "perplexity") {
		return "eval_" + name
	}
	return name
}
