package mlflow

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/trainmedic/trainmedic/internal/decimal"
	"github.com/trainmedic/trainmedic/internal/run"
)

// point is where the reading of a metric's file stands.
type point struct {
	offset int64
	lines  int // before it
}

// String is the form that parsePoint reads.
func (p point) String() string { return fmt.Sprint(p.offset, " ", p.lines) }

func parsePoint(s string) (p point) {
	if n, err := fmt.Sscan(s, &p.offset, &p.lines); err != nil || n != 2 || p.offset < 0 || p.lines < 0 {
		return point{}
	}
	return p
}

const (
	pieceSize = 256 << 10
	lineSize  = 24 // about what a line takes
)

// read takes whole lines "MILLISECONDS VALUE STEP" until the file ends or the look
// has enough. A last line without its end is left for the next look.
func (p *point) read(ctx context.Context, r io.ReaderAt, size int64, name, key string, obs *run.Observation) error {
	buf := make([]byte, min(pieceSize, max(1, size-p.offset)))
	bad, first := 0, 0
	obs.Samples = slices.Grow(obs.Samples, max(0, min(int((size-p.offset)/lineSize), maxSamples-len(obs.Samples))))
	for p.offset < size {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.ReadAt(buf[:min(int64(len(buf)), size-p.offset)], p.offset)
		if n == 0 || err != nil && err != io.EOF {
			return err
		}
		b := buf[:n]
		end := bytes.LastIndexByte(b, '\n') + 1
		if end == 0 {
			if n < len(buf) || n < pieceSize { // being written
				break
			}
			end = n // no line of a metric is so long
		}
		b = b[:end]
		for len(b) > 0 {
			if len(obs.Samples) >= maxSamples {
				obs.More = true
				p.report(name, bad, first, obs)
				return nil
			}
			line := b
			if i := bytes.IndexByte(b, '\n'); i >= 0 {
				line = b[:i+1]
			}
			p.lines++
			s := run.Sample{Name: key, Ref: run.Ref{File: name, Line: p.lines, Offset: p.offset}, Tracker: "mlflow"}
			if parseLine(line, &s) {
				obs.Samples = append(obs.Samples, s)
			} else if bad++; bad == 1 {
				first = p.lines
			}
			p.offset += int64(len(line))
			b = b[len(line):]
		}
	}
	p.report(name, bad, first, obs)
	return nil
}

func (p *point) report(name string, bad, first int, obs *run.Observation) {
	if bad > 0 {
		obs.Gaps = append(obs.Gaps, run.Gap{What: name, Why: fmt.Sprintf("%d lines are no values, the first is line %d", bad, first), Ask: "an undamaged copy of " + run.Name(name)})
	}
}

// parseLine reads "MILLISECONDS VALUE [STEP [more…]]".
func parseLine(line []byte, s *run.Sample) bool {
	at, rest, ok := integer(line)
	if !ok {
		return false
	}
	i := bytes.IndexByte(rest, ' ')
	word := rest
	if i >= 0 {
		word, rest = rest[:i], rest[i+1:]
	} else {
		rest = nil
	}
	s.Value, ok = decimal.Parse(bytes.TrimSpace(word)) // nan, inf and -inf too
	if !ok {
		return false
	}
	s.At = milliseconds(at)
	if len(bytes.TrimSpace(rest)) > 0 {
		s.Step, _, ok = integer(rest)
	}
	return ok
}

// integer reads a number up to a space or the end of the line.
func integer(b []byte) (n int64, rest []byte, ok bool) {
	i, negative := 0, false
	if len(b) > 0 && b[0] == '-' {
		i, negative = 1, true
	}
	start := i
	for ; i < len(b) && b[i] >= '0' && b[i] <= '9' && i-start < 18; i++ {
		n = n*10 + int64(b[i]-'0')
	}
	if i == start {
		return 0, nil, false
	}
	if negative {
		n = -n
	}
	switch {
	case i == len(b):
		return n, nil, true
	case b[i] == ' ':
		return n, b[i+1:], true
	case b[i] == '\n' || b[i] == '\r':
		return n, nil, true
	}
	return 0, nil, false
}
