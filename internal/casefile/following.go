package casefile

import (
	"bytes"
	"context"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/trainmedic/trainmedic/internal/run"
)

// continued finds the reading that a stream of a followed run goes on from, and
// says where its new bytes stand; nil for a stream that was not seen before.
func (f *File) continued(in *run.Stream) *reading {
	rd := f.readings[in.Name]
	if rd == nil || in.Offset > 0 && in.Offset != rd.base {
		return rd.elsewhere(in)
	}
	if in.Offset == 0 { // rotated, truncated or made anew: the run goes on, the lines count from 1
		rd.line, rd.base, rd.start, rd.s.spoken = 1, 0, 0, 0
	}
	if in.FirstLine > 0 {
		rd.line = in.FirstLine
	}
	rd.s.Live, rd.s.ModTime = in.Live, in.ModTime
	return rd
}

// elsewhere moves a reading to bytes that do not follow the last ones: some
// were lost between two looks.
func (rd *reading) elsewhere(in *run.Stream) *reading {
	if rd == nil {
		return nil
	}
	rd.base, rd.s.Live, rd.s.ModTime = in.Offset, in.Live, in.ModTime
	if in.FirstLine > 0 {
		rd.line = in.FirstLine
	}
	return rd
}

// hold takes the last line out of a followed stream's last block if it lacks
// its end: it waits for the next look. So does a \r at the very end, which may
// be half of a line's end.
func (rd *reading) hold(b *block) {
	rd.rest = nil
	if !rd.f.Following || !b.last || b.err != nil || len(b.recs) == 0 || b.b[len(b.b)-1] == '\n' {
		return
	}
	at := int(b.recs[len(b.recs)-1].at)
	if len(b.b)-at > maxLine/2 { // no line of a log; it would be carried from look to look
		return
	}
	rd.rest = bytes.Clone(b.b[at:])
	b.b, b.recs = b.b[:at], b.recs[:len(b.recs)-1]
}

// joined puts what was held back before the new bytes of its stream, unless the
// source gives it again.
func (f *File) joined(streams []run.Stream) []run.Stream {
	if !f.Following {
		return streams
	}
	out := slices.Clone(streams)
	for i := range out {
		in := &out[i]
		rd := f.readings[in.Name]
		if rd == nil || len(rd.rest) == 0 || in.Offset != rd.base+int64(len(rd.rest)) {
			continue
		}
		rest, open := rd.rest, in.Open
		in.Offset -= int64(len(rest))
		in.FirstLine = 0
		in.Open = func(ctx context.Context) (io.ReadCloser, error) {
			r, err := open(ctx)
			if err != nil {
				return nil, err
			}
			return &prefixed{io.MultiReader(bytes.NewReader(rest), r), r}, nil
		}
	}
	return out
}

// prefixed is a stream's new bytes behind what was held back of it.
type prefixed struct {
	io.Reader
	io.Closer
}

// Settle reads the lines that were held back because they lack their end: the
// run is over, they get none. Further Adds may follow.
func (f *File) Settle(ctx context.Context) error {
	var rests []run.Stream
	for _, name := range slices.Sorted(maps.Keys(f.readings)) {
		rd := f.readings[name]
		if len(rd.rest) == 0 {
			continue
		}
		text := string(rd.rest)
		rests = append(rests, run.Stream{
			Name: name, Kind: rd.s.Kind, Rank: rd.s.Rank, Live: rd.s.Live, ModTime: rd.s.ModTime, Offset: rd.base,
			Open: func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
		})
	}
	f.Following = false
	defer func() { f.Following = true }()
	return f.read(ctx, rests)
}

// renew replaces what a followed run shows anew at each look, which a single
// look only collects.
func (f *File) renew(o run.Observation) {
	f.Checkpoints = slices.DeleteFunc(f.Checkpoints, func(c run.Checkpoint) bool {
		return slices.ContainsFunc(o.Checkpoints, func(n run.Checkpoint) bool { return n.Path == c.Path })
	})
	f.Gaps = slices.DeleteFunc(f.Gaps, func(g run.Gap) bool {
		return slices.ContainsFunc(o.Gaps, func(n run.Gap) bool { return n.What == g.What }) ||
			slices.ContainsFunc(o.Streams, func(s run.Stream) bool { return s.Name == g.What && s.Size > 0 }) // it was empty, or not there yet
	})
}
